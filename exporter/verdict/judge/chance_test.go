package judge

import "testing"

// TestChances uses values that follow from the definitions.
func TestChances(t *testing.T) {
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"at least 4 of 0.375", poissonTail(4, 0.375), 0.0006117},
		{"at least 0", poissonTail(0, 3), 1},
	} {
		if c.got < c.want*0.99 || c.got > c.want*1.01 {
			t.Errorf("%s: %g, want %g", c.what, c.got, c.want)
		}
	}
}
