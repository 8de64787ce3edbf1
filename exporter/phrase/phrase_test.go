package phrase

import (
	"testing"
	"time"
)

func TestPhrases(t *testing.T) {
	const ms, s, m, h = time.Millisecond, time.Second, time.Minute, time.Hour
	for got, want := range map[string]string{
		Duration(300 * time.Microsecond): "less than 1ms",
		Duration(850 * ms):               "850ms",
		Duration(13456 * ms):             "13.5s",
		Duration(100 * s):                "100s",
		Duration(2*m + 5*s):              "2m05s",
		Duration(5 * m):                  "5m",
		Duration(3*h + 20*m):             "3h20m",
		Duration(2 * h):                  "2h",
		Duration(102 * h):                "4d06h",
		Count(0, "node", "nodes"):        "no nodes",
		Count(1, "node", "nodes"):        "1 node",
		Count(2, "node", "nodes"):        "2 nodes",
		CountOf(2, 9, "nodes"):           "2 of 9 nodes",
		CountOf(3, 2, "nodes"):           "3 nodes",
		Times(1) + Times(2):              ", twice",
		Often(1) + Times(3):              "once, 3 times",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
