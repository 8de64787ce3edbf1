package api

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

func TestManyGaps(t *testing.T) {
	c := Coverage{Since: phrase.Time{Time: noon}}
	for i := range 30 {
		to := noon.Add(time.Duration(i)*time.Hour + time.Minute)
		c.Gaps = append(c.Gaps, Gap{Resources: []string{"pods"}, From: noon.Add(time.Duration(i) * time.Hour), To: phrase.Time{Time: to}, Reason: "timeout", MayMiss: "all"})
	}
	all := c.Texts(1)
	if len(all) != 1+maxGaps+1 || all[1] != "Not watched: pods from 2026-03-02 17:00:00 UTC to 2026-03-02 17:01:00 UTC, for 60s (timeout). May miss: all." || all[21] != "10 older gaps are left out." {
		t.Errorf("got %d texts: %q", len(all), all)
	}
}
