package verdict

import "time"

// Break is a period in which kubeflap's own Lease watch was broken. From is zero if there was no break. To is zero if
// the break is ongoing.
type Break struct{ From, To time.Time }

// Begin records that the watch broke. It ignores a second break before the watch works again.
func (b *Break) Begin(t time.Time) {
	if b.From.IsZero() || !b.To.IsZero() {
		*b = Break{From: t}
	}
}

// caughtUp is the time that a restored watch may need to deliver missed events (catchUp in exporter/track/watches).
const caughtUp = 2 * time.Second

// othersUnseen reports whether kubeflap cannot know if other nodes fell silent at the same time. This is the case if
// the Lease watch broke before the other nodes' next heartbeats were due, and has not caught up yet.
func (f *NodeLoss) othersUnseen() bool {
	b := f.Break
	if b.From.IsZero() || !b.To.IsZero() && !f.Now.Before(b.To.Add(caughtUp)) {
		return false
	}
	return f.each(func(s *Silence) bool {
		return b.From.Before(s.Began.Add(f.Interval)) && (b.To.IsZero() || s.Began.Before(b.To))
	}) > 0
}

const othersUnseenText = "kubeflap's own watch was broken. When the watch has caught up, kubeflap will know whether other nodes fell silent, too"
