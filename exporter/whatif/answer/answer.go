// Package answer contains the result of kubeflap whatif: the predictions for each of the settings, as a table or as
// JSON.
package answer

import (
	"slices"
	"time"
)

// Answer is the result for all settings.
type Answer struct {
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
	Nodes    int       `json:"nodes"`
	Recorded Recorded  `json:"recorded"`
	Check    *Check    `json:"check,omitempty"`
	// NoPrediction is the reason why there is no prediction, or empty. If there is such a reason, Settings is empty.
	NoPrediction string   `json:"noPrediction,omitempty"`
	Settings     []Row    `json:"settings"`
	CannotSay    []string `json:"cannotSay"`
}

// Recorded holds the counts from the recording itself.
type Recorded struct {
	GracePeriodSeconds   float64 `json:"gracePeriodSeconds"`
	MonitorPeriodSeconds float64 `json:"monitorPeriodSeconds"`
	// Certain reports whether the grace period was specified or can be read from the recording.
	Certain bool `json:"certain"`
	// ManagerGracePeriodSeconds is the grace period in the controller manager's pod. It is only set if it differs from
	// GracePeriodSeconds.
	ManagerGracePeriodSeconds float64 `json:"controllerManagerGracePeriodSeconds,omitempty"`
	// NodesUnknown counts the changes of a node's Ready condition to Unknown. NodesBack counts the changes from Unknown
	// to another status.
	NodesUnknown  int     `json:"nodesUnknown"`
	NodesBack     int     `json:"nodesBack"`
	AddressesLost int     `json:"addressesLost"`
	Outages       int     `json:"outages"`
	OutageSeconds float64 `json:"outageSeconds"`
	Evictions     int     `json:"evictions"`
}

// Check compares the predictions for the recorded settings with the recording.
type Check struct {
	// Right and Wrong count the silences with a correct and with an incorrect prediction. TooClose and Unknown count
	// the silences without a prediction.
	Right    int `json:"right"`
	Wrong    int `json:"wrong"`
	TooClose int `json:"tooClose"`
	Unknown  int `json:"unknown"`
}

// Row is the result for one of the settings.
type Row struct {
	GracePeriodSeconds   float64 `json:"gracePeriodSeconds"`
	MonitorPeriodSeconds float64 `json:"monitorPeriodSeconds"`
	// TolerationSeconds is absent if the pods keep their recorded tolerations.
	TolerationSeconds *float64 `json:"tolerationSeconds,omitempty"`
	WindowSeconds     float64  `json:"batchingWindowSeconds"`
	// Recorded is set if the row has the recorded settings. If these settings are only an assumption, Assumed is set as
	// well. MarkKnee sets Knee.
	Recorded bool `json:"recorded"`
	Assumed  bool `json:"assumed,omitempty"`
	Knee     bool `json:"knee"`
	// NodesUnknown counts the changes of a node's Ready condition to Unknown. Needless counts these changes only for
	// nodes that recovered by themselves. NodesBack counts the changes from Unknown to another status.
	NodesUnknown Range `json:"nodesUnknown"`
	Needless     Range `json:"needless"`
	NodesBack    Range `json:"nodesBack"`
	// TooClose and Unknown count the silences without a prediction.
	TooClose       int   `json:"tooClose"`
	Unknown        int   `json:"unknown"`
	AddressesLost  Range `json:"addressesLost"`
	NeedlessLosses Range `json:"needlessAddressesLost"`
	Outages        Range `json:"outages"`
	// NeedlessOutageSeconds and NeedlessBounces exclude the effects of failed nodes.
	OutageSeconds         Range `json:"outageSeconds"`
	NeedlessOutageSeconds Range `json:"needlessOutageSeconds"`
	// NeedlessEvictions counts the evictions from nodes that came back.
	Evictions         Range `json:"evictions"`
	NeedlessEvictions Range `json:"needlessEvictions"`
	ClientUpdates     Range `json:"clientUpdates"`
	ClientBounces     Range `json:"clientBounces"`
	NeedlessBounces   Range `json:"needlessClientBounces"`
	// FailuresFound counts the failed nodes that the controller detects. FoundAfterSeconds is the longest detection
	// time.
	FailuresFound     int     `json:"failuresFound"`
	FoundAfterSeconds float64 `json:"failuresFoundAfterSeconds"`
	// TrafficSeconds is the time that addresses of failed nodes stay in rotation, summed over the addresses.
	TrafficSeconds Range        `json:"trafficToFailedAddressSeconds"`
	Transitions    []Transition `json:"transitions"`
}

// Outcome says whether the controller sets a node to Unknown during a silence.
type Outcome string

// TooClose means that the outcome depends on the exact time at which the controller checks the node. Untold means that
// the recording does not contain enough data.
const (
	Yes      Outcome = "yes"
	No       Outcome = "no"
	TooClose Outcome = "too_close"
	Untold   Outcome = "unknown"
)

// Transition is the prediction for one silence of a node.
type Transition struct {
	Node string `json:"node"`
	// LastHeartbeat is the start of the silence, and SilenceSeconds is its length. Open is set if the recording ends
	// during the silence.
	LastHeartbeat  time.Time `json:"lastHeartbeat"`
	SilenceSeconds float64   `json:"silenceSeconds"`
	Open           bool      `json:"open,omitempty"`
	// Failed is set if the node really failed. A failed node returned with a different boot ID, after more than 5
	// minutes, or never.
	Failed bool `json:"failed"`
	// Recorded is set if the node became Unknown in the recording.
	Recorded  bool    `json:"recorded"`
	Predicted Outcome `json:"predicted"`
	// Because is the reason why the outcome is unknown.
	Because string `json:"because,omitempty"`
	// Earliest and Latest are the bounds of the predicted time at which the controller sets the node to Unknown. They
	// are set if the outcome is yes or too_close.
	Earliest time.Time `json:"earliest,omitzero"`
	Latest   time.Time `json:"latest,omitzero"`
}

// Range is a predicted number. AtLeast and AtMost differ if some outcomes are uncertain.
type Range struct {
	AtLeast float64 `json:"atLeast"`
	AtMost  float64 `json:"atMost"`
}

// Of returns the count that an outcome contributes: 1 for Yes, 0 to 1 for TooClose, otherwise 0.
func Of(x Outcome) Range {
	switch x {
	case Yes:
		return Range{1, 1}
	case TooClose:
		return Range{0, 1}
	}
	return Range{}
}

// Add adds the bounds of another range.
func (r *Range) Add(x Range) {
	r.AtLeast += x.AtLeast
	r.AtMost += x.AtMost
}

// Between returns the range between two values, which can be in any order.
func Between(a, b float64) Range { return Range{min(a, b), max(a, b)} }

// MarkKnee marks one row as the knee. The knee is the first row with the fewest needless transitions, losses,
// evictions, outage seconds and bounces. If there is no such row, or if all rows are equally good, MarkKnee marks no
// row.
func MarkKnee(rows []Row) {
	for i := range rows {
		if !slices.ContainsFunc(rows, func(other Row) bool { return other.gains(rows[i]) }) {
			rows[i].Knee = slices.ContainsFunc(rows, func(other Row) bool { return rows[i].gains(other) || rows[i].costsLess(other) })
			return
		}
	}
}

// costsLess reports whether failed nodes are detected earlier with the settings of r than with those of the other row,
// or whether the addresses of failed nodes leave rotation earlier.
func (r Row) costsLess(other Row) bool {
	return r.FoundAfterSeconds < other.FoundAfterSeconds || r.TrafficSeconds.AtMost < other.TrafficSeconds.AtMost
}

// gains reports whether r has fewer needless effects of at least one kind than the other row.
func (r Row) gains(other Row) bool {
	return r.Needless.AtMost < other.Needless.AtMost || r.NeedlessLosses.AtMost < other.NeedlessLosses.AtMost ||
		r.NeedlessEvictions.AtMost < other.NeedlessEvictions.AtMost || r.NeedlessOutageSeconds.AtMost < other.NeedlessOutageSeconds.AtMost ||
		r.NeedlessBounces.AtMost < other.NeedlessBounces.AtMost
}
