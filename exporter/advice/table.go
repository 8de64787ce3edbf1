package advice

import (
	"fmt"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
)

// NotesOn returns sentences that explain a comparison of grace periods. They repeat the recommended grace period.
func NotesOn(t *controlplane.Table, g GracePeriod) []string {
	if len(t.Rows) == 0 {
		return []string{"kubeflap cannot see the heartbeats of nodes, so it cannot compare grace periods."}
	}
	recommended := "kubeflap recommends no other grace period."
	if to := g.Recommended(); to > 0 {
		recommended = fmt.Sprintf("Recommended grace period: %s (currently %s).", phrase.Duration(to), phrase.Duration(g.Period))
	}
	return []string{
		"The table counts all silences that kubeflap saw, whatever their cause. A dead node turns Unknown with any grace period: at the latest when the grace period and the node monitor period have passed since its last heartbeat. If kubeflap cannot see the node monitor period, it assumes the default of 5s.",
		recommended + " The recommendation depends only on silences that slow nodes caused, and leaves a margin.",
		"A range such as 0-4 gives the lowest and the highest possible number. The exact number is unknown if a silence ended while the node controller was about to act, or if it is unknown whether the controller worked.",
		fmt.Sprintf("Grace periods below %s are unsafe, because a single lost heartbeat makes a node Unknown. Heartbeats that are on time do not count as silences.", phrase.Duration(g.Shortest())),
	}
}
