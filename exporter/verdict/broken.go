package verdict

import "time"

// Break is a period in which kubeflap's own Lease watch was broken. From is zero if there was no break. To is zero if
// the break is ongoing.
type Break struct{ From, To time.Time }

// Begin records that the watch broke. It has no effect if the watch is already broken.
func (b *Break) Begin(t time.Time) {
	if b.From.IsZero() || !b.To.IsZero() {
		*b = Break{From: t}
	}
}

// caughtUp is the longest time that a restored watch needs to deliver missed events. It equals catchUp in
// exporter/track/watches.
const caughtUp = 2 * time.Second

// othersUnseen reports whether a break of the Lease watch may hide silences of other nodes. The result is false once
// the watch has delivered the missed events.
func (f *NodeLoss) othersUnseen() bool {
	b := f.Break
	if b.From.IsZero() || !b.To.IsZero() && !f.Now.Before(b.To.Add(caughtUp)) {
		return false
	}
	return f.countSilences(func(s *Silence) bool {
		return b.From.Before(s.Began.Add(f.Interval)) && (b.To.IsZero() || s.Began.Before(b.To))
	}) > 0
}

const othersUnseenText = "kubeflap's own watch was broken. When the watch has caught up, kubeflap will know whether other nodes fell silent, too"
