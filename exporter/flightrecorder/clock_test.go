package flightrecorder_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
)

// clocked records changes of one node, with a clock that can be set. A change is named after the minutes since the
// start, first by that clock and then in reality. For example, the clock is an hour behind in "30/90".
type clocked struct {
	t     *testing.T
	s     flightrecorder.Settings
	begin time.Time
	// real is the real time, and offset what the clock shows in addition, both in minutes.
	real, offset int
	r            *flightrecorder.Recorder
	stop         func()
}

// seen returns what time.Now returns now. Setting the clock does not change its monotonic reading.
func (c *clocked) seen() time.Time {
	real, offset := c.begin.Add(time.Duration(c.real)*time.Minute), time.Duration(c.offset)*time.Minute
	seen := real.Add(offset)
	*(*int64)(unsafe.Add(unsafe.Pointer(&seen), 8)) -= int64(offset) // no function sets the two apart
	if seen.Sub(real) != 0 || !seen.Round(0).Equal(real.Round(0).Add(offset)) {
		c.t.Fatalf("%v is no time of a clock that was set by %v at %v", seen, offset, real)
	}
	return seen
}

func (c *clocked) send(what event.Type) {
	ev := event.Event{Seen: c.seen(), Kind: event.KindNode, Type: what}
	if what.HasObject() {
		ev.Object = &event.Node{Meta: event.Meta{UID: uidOf(event.KindNode, 1), Name: "node-1"}, BootID: fmt.Sprintf("%d/%d", c.real+c.offset, c.real)}
	}
	c.r.Record(ev)
}

// start starts a recorder, which lists the node.
func (c *clocked) start() {
	c.r, c.stop = run(c.t, c.s)
	for _, what := range []event.Type{event.Listing, event.Listed, event.Synced} {
		c.send(what)
	}
}

// run records for some minutes.
func (c *clocked) run(minutes int) {
	for range minutes {
		c.real++
		c.send(event.Modified)
		time.Sleep(2 * time.Second)
	}
}

// read returns what can be read between two times in minutes: the first and the last change of each period without a
// break. The first change may come from a list, which shows the last change before the period.
func (c *clocked) read(from, to int) string {
	c.t.Helper()
	var all, part []string
	end := func() {
		if len(part) > 0 {
			all = append(all, part[0]+"-"+part[len(part)-1])
		}
		part = nil
	}
	at := func(minute int) time.Time { return c.begin.Add(time.Duration(minute) * time.Minute) }
	for _, ev := range read(c.t, c.s.Dir, at(from), at(to)) {
		switch {
		case ev.Type == event.Down:
			end()
		case ev.Object != nil:
			part = append(part, ev.Object.(*event.Node).BootID)
		}
	}
	end()
	return strings.Join(all, ", ")
}

// TestTheClockIsSet checks that what is being recorded can be read, and that the time does not go back during the reading.
func TestTheClockIsSet(t *testing.T) {
	const hour, day = 60, 24 * 60
	restart := func(c *clocked, down, step int) {
		c.stop()
		c.real += down
		c.offset += step
		c.start()
	}
	for name, test := range map[string]struct {
		story func(c *clocked)
		// want contains what is read, by the period in minutes.
		want map[[2]int]string
	}{
		"not at all": {
			func(c *clocked) { c.run(5 * hour) },
			map[[2]int]string{{0, 300}: "0/0-300/300", {90, 100}: "89/89-100/100", {250, 260}: "249/249-260/260"},
		},
		"back by 10 minutes": {
			func(c *clocked) { c.run(30); c.offset -= 10; c.run(30) },
			map[[2]int]string{{0, 50}: "0/0-21/21, 30/30-50/60", {40, 50}: "39/49-50/60", {25, 26}: "24/34-26/36", {5, 6}: "4/4-6/6"},
		},
		"back by three hours, before the first event": {
			func(c *clocked) { c.run(5); c.offset -= 3 * hour; c.run(10) },
			map[[2]int]string{{-175, 5}: "5/5--165/15, 0/0-5/5", {-175, -165}: "5/5--165/15", {-170, -165}: "-171/9--165/15", {0, 5}: "0/0-5/5"},
		},
		"forward by half an hour": {
			func(c *clocked) { c.run(30); c.offset += 30; c.run(30) },
			map[[2]int]string{{0, 90}: "0/0-30/30, 30/30-90/60", {40, 90}: "30/30-30/30, 30/30-90/60", {70, 90}: "69/39-90/60"},
		},
		"back at a restart": {
			func(c *clocked) { c.run(30); restart(c, 1, -10); c.run(30) },
			map[[2]int]string{{0, 51}: "0/0-21/21, 21/31-51/61", {40, 51}: "39/49-51/61"},
		},
		"back by a day, and forward again": {
			func(c *clocked) { c.run(3 * hour); c.offset -= day; c.run(10); c.offset += day; c.run(hour) },
			map[[2]int]string{{-1300, 250}: "180/180--1250/190, 0/0-180/180, -1250/190-250/250", {100, 170}: "99/99-170/170", {100, 250}: "99/99-180/180, -1250/190-250/250", {200, 250}: "199/199-250/250", {-1260, -1250}: "180/180--1250/190"},
		},
		"a day behind after a restart, then forward": {
			func(c *clocked) { c.run(3 * hour); restart(c, 5, -day); c.run(2); c.offset += day; c.run(hour) },
			map[[2]int]string{{100, 247}: "99/99-180/180, -1253/187-247/247", {200, 247}: "199/199-247/247"},
		},
		"ahead by an hour after a restart, then back": {
			func(c *clocked) { c.run(30); restart(c, 5, hour); c.run(2); c.offset -= hour; c.run(2 * hour) },
			map[[2]int]string{{0, 157}: "0/0-30/30, 97/37-157/157", {95, 120}: "94/94-120/120", {100, 120}: "99/99-120/120"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now() // in a bubble, times have no monotonic reading
			synctest.Test(t, func(t *testing.T) {
				c := &clocked{t: t, s: settings(t), begin: begin.Add(-time.Duration(begin.Nanosecond()))}
				c.start()
				test.story(c)
				c.stop()
				for period, want := range test.want {
					if got := c.read(period[0], period[1]); got != want {
						t.Errorf("from %d to %d: %s, want %s", period[0], period[1], got, want)
					}
				}
			})
		})
	}
}
