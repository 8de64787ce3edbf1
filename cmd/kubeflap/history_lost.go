package main

import "time"

// checkForLoss checks whether the file with the incidents of earlier processes was damaged or unreadable. If so, it
// records that incidents may be missing. earlierWatched is set if an earlier process has watched the cluster. Such a
// process has created the file.
func (h *history) checkForLoss(unreadable error, path string, earlierWatched bool) {
	if unreadable != nil {
		h.unread = h.Stopped()
		return
	}
	if damage := h.journal.Damage(earlierWatched); damage != "" {
		h.logger.Error("incidents from previous runs may be missing. To see what was recorded, run kubeflap report --recording=<data directory>",
			"file", path, "damage", damage, "until", h.Stopped())
		h.journal.MarkLostUntil(h.Stopped())
	}
}

// LostUntil returns the time before which incidents may be missing. It returns zero if the file of incidents was
// intact.
func (h *history) LostUntil() time.Time {
	if lost := h.journal.LostUntil(); lost.After(h.unread) {
		return lost
	}
	return h.unread
}
