package verdict

import "time"

// Break is a time in which kubeflap's own watch of Leases was broken. To is zero while it is; From is zero if there was none.
type Break struct{ From, To time.Time }

// Begin notes that the watch broke. A second break before it works again belongs to the first.
func (b *Break) Begin(t time.Time) {
	if b.From.IsZero() || !b.To.IsZero() {
		*b = Break{From: t}
	}
}

// caughtUp is how long after a break a watch has delivered what it had missed (catchUp in exporter/track/watches).
const caughtUp = 2 * time.Second

// othersUnseen reports whether kubeflap cannot tell yet how the other nodes fared when those of the incident fell silent: its watch of Leases broke
// before their next heartbeats were due, and has not caught up.
func (f *NodeLoss) othersUnseen() bool {
	b := f.Break
	if b.From.IsZero() || !b.To.IsZero() && !f.Now.Before(b.To.Add(caughtUp)) {
		return false
	}
	return f.each(func(s *Silence) bool {
		return b.From.Before(s.Began.Add(f.Interval)) && (b.To.IsZero() || s.Began.Before(b.To))
	}) > 0
}

const othersUnseenText = "kubeflap's own watch was broken: whether other nodes fell silent too shows when it has caught up"
