package compare

import (
	"testing"

	"github.com/kubeflap/kubeflap/lab/truth"
)

func TestLossesAreComparedWithoutTheirCause(t *testing.T) {
	const of = `{namespace="a",service="s"}`
	const deleted, unknown = `{cause="pod_deleted",namespace="a",service="s"}`, `{cause="unknown",namespace="a",service="s"}`
	want := func() truth.Counts {
		return truth.Counts{
			truth.AddressesLost + of: 3, truth.LossesOfAnyCause + of: 3, truth.LastLoss + of: 100, truth.LastLossSeries + of: 1,
		}
	}
	for name, c := range map[string]struct {
		reported truth.Counts
		want     int
	}{
		"by two causes":                   {truth.Counts{lossesByCause + deleted: 2, lossesByCause + unknown: 1, lastLoss + unknown: 101}, 0},
		"one too many":                    {truth.Counts{lossesByCause + deleted: 3, lossesByCause + unknown: 1, lastLoss + unknown: 101}, 1},
		"last loss by two causes":         {truth.Counts{lossesByCause + deleted: 3, lastLoss + deleted: 99, lastLoss + unknown: 100}, 1},
		"the last loss is not the newest": {truth.Counts{lossesByCause + deleted: 3, lastLoss + deleted: 97}, 1},
		"no loss has its cause":           {truth.Counts{}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			c.reported[lossesByClass+`{class="unplanned",namespace="a",service="s"}`], c.reported[lossesByClass+`{class="planned",namespace="a",service="s"}`] = 1, 2
			addLosses(c.reported)
			if got := Differences(want(), c.reported); len(got) != c.want {
				t.Errorf("got %d differences, want %d:\n%s", len(got), c.want, Table(got))
			}
		})
	}
}

func TestLossesWhoseClassIsNotFinal(t *testing.T) {
	const of = `{namespace="a",service="s"}`
	for reported, want := range map[float64]int{1: 0, 2: 0, 3: 1} {
		if got := Differences(truth.Counts{truth.AddressesLost + of: 2}, truth.Counts{truth.AddressesLost + of: reported}); len(got) != want {
			t.Errorf("%v of 2 losses: got %d differences, want %d", reported, len(got), want)
		}
	}
}

func TestWhatWasNeverLostHasNoSeriesByCause(t *testing.T) {
	const of = `{namespace="a",service="s"}`
	want := truth.Counts{truth.AddressesLost + of: 0, truth.LossesOfAnyCause + of: 0}
	if got := Differences(want, truth.Counts{truth.AddressesLost + of: 0}); len(got) > 0 {
		t.Errorf("unexpected differences:\n%s", Table(got))
	}
	if got := Differences(want, truth.Counts{}); len(got) != 1 {
		t.Errorf("no difference although a counter that always exists is missing:\n%s", Table(got))
	}
}

func TestLossBeforeTheBaseIsStillTheLast(t *testing.T) {
	const of = `{namespace="a",service="s"}`
	base := Base{Truth: truth.Counts{}, Reported: truth.Counts{truth.LastLoss + of: 50, truth.LastLossSeries + of: 1}}
	if want := base.expected(truth.Counts{}); want[truth.LastLoss+of] != 50 || want[truth.LastLossSeries+of] != 1 {
		t.Errorf("unexpected counts %v", want)
	}
	if want := base.expected(truth.Counts{truth.LastLoss + of: 70}); want[truth.LastLoss+of] != 70 {
		t.Errorf("unexpected counts %v", want)
	}
}
