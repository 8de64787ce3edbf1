package incident

import (
	"maps"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// maxSilences limits the silences of an incident. maxListed limits the names in a set.
const (
	maxSilences = 200
	maxListed   = 10_000
)

// Facts holds everything that kubeflap observed of an incident.
type Facts struct {
	Subject
	Evidence Entries
	Progress
	Writers
	Complaints
	Quotes Quotes

	// KnownNodes is the number of nodes in the cluster.
	KnownNodes int
	NodeCounts
	Counts
	// LostAgain counts the addresses that were lost more than once. TurnedUnknown counts how often a node's Ready
	// condition became Unknown.
	LostAgain, TurnedUnknown int
	// FoundUnknown counts the nodes that were Unknown when kubeflap started watching. FoundNotReady counts those that were
	// Ready=False.
	FoundUnknown, FoundNotReady int
	// Replaced describes how often the pods were replaced, or is empty if they were replaced at most once.
	Replaced string
	// Longest is the longest heartbeat interval that has ended. If the Lease watch broke during an interval, only the
	// part before the break counts.
	Longest time.Duration
	// HeartbeatLost is set if a node stopped sending heartbeats. This explains all other failures of the node.
	HeartbeatLost bool
	// ByCause counts the lost addresses for each cause. The count is 0 if the cause made pods unready without the loss
	// of an address.
	ByCause map[cause.Cause]int
	// Windows counts the mistakes of simulated clients.
	Windows advice.Windows
	// Silences holds the newest silences of the incident's nodes, at most maxSilences. Judgement is the verdict that
	// they all share.
	Silences  silence.List
	Judgement *silence.Judgement

	// The field planned counts the lost addresses on nodes whose departure had been announced, and announcedBy describes
	// the announcement. The field vanished counts the addresses that were lost for an unknown reason while kubeflap was
	// not watching. The field withNode counts the lost addresses on Nodes that had been deleted without notice, and
	// deleted holds the names of these Nodes.
	planned     int
	announcedBy string
	vanished    int
	withNode    int
	deleted     []string
	Members
	// The incident's effects on Services.
	effects ordered[transition.Service, Service]
	// The field waited is the longest wait that has ended.
	waited Waited
}

// Writers holds the facts about unexpected writers of a Service's addresses.
type Writers struct {
	// Who describes these writers. It is empty if there are none. Foreign is set if a Service with a selector had foreign addresses (see
	// transition.ForeignAddresses). Withdrawn is set if somebody removed pod addresses from Endpoints.
	Who                string
	Foreign, Withdrawn bool
	// Conflicted is set if the Service had both a selector and manually managed addresses. Removed is set while these
	// addresses are missing. Resets counts how often they were removed. ServiceGone is set if the Service was deleted.
	Conflicted, Removed, ServiceGone bool
	Resets                           int
}

// NewFacts returns the facts of an incident that begins.
func NewFacts(s Subject) Facts {
	return Facts{Subject: s, Progress: Progress{Open: OpenSet{}}, ByCause: map[cause.Cause]int{}, Windows: advice.NewWindows(), Judgement: &silence.Judgement{}}
}

// AddSilence adds a silence of a node.
func (f *Facts) AddSilence(x *silence.Silence) {
	if slices.Contains(f.Silences, x) {
		return
	}
	x.Judgement = f.Judgement
	f.lost.at(x.Node)
	if f.Silences = append(f.Silences, x); len(f.Silences) > maxSilences {
		f.Silences = slices.Delete(f.Silences, 0, 1)
	}
}

// DropSilence removes a silence that belongs to another incident.
func (f *Facts) DropSilence(x *silence.Silence) {
	x.Judgement = nil
	f.Silences = slices.DeleteFunc(f.Silences, func(s *silence.Silence) bool { return s == x })
	if !f.Silences.Any(func(s *silence.Silence) bool { return s.Node == x.Node }) {
		f.lost.drop(x.Node)
	}
}

// WithdrawSilences removes silences of a node that did not happen. The result is true if nothing else happened to the
// node, so that it no longer belongs to the incident.
func (f *Facts) WithdrawSilences(node string, late silence.List) bool {
	for _, s := range late {
		f.DropSilence(s)
	}
	if len(f.Silences) == 0 {
		f.HeartbeatLost, f.Longest = false, 0
	}
	if f.lost.of[node] != nil || *f.nodes.at(node) {
		return false
	}
	f.nodes.drop(node)
	f.inTime.at(node)
	return true
}

// Lose counts a lost address. The parameter deleted is set if the address's Node had been deleted without notice.
func (f *Facts) Lose(x transition.AddressLost, deleted bool) {
	f.Lost++
	f.Failed(x.Time)
	f.ByCause[x.Cause]++
	f.EffectOn(x.Service).Lost++
	if x.Announced != "" {
		f.planned, f.announcedBy = f.planned+1, x.Announced
	}
	if x.Vanished {
		f.vanished++
	}
	if x.Pod.Node != "" {
		f.AddFailed(x.Pod.Node)
	}
	if deleted {
		f.withNode++
		if !slices.Contains(f.deleted, x.Pod.Node) && len(f.deleted) < MaxNodes {
			f.deleted = append(f.deleted, x.Pod.Node)
		}
	}
}

// EffectOn returns the incident's effect on a Service.
func (f *Facts) EffectOn(x transition.Service) *Service {
	e := f.effects.at(x)
	e.Namespace, e.Name = x.Namespace, x.Name
	return e
}

// Trim drops the names that are not shown. Call it when the facts no longer change.
func (f *Facts) Trim() {
	f.nodes.trim(MaxNodes)
	f.lost.trim(MaxNodes)
	f.effects.trim(MaxServices)
	f.inTime.trim(0)
	f.Open = OpenSet{} // an emptied map does not release its memory
}

// Take adds the facts of a node incident that is merged into this one.
func (f *Facts) Take(from *Facts) {
	for _, e := range from.Evidence.all() {
		f.Evidence.Add(*e)
	}
	for _, s := range from.Timeline.all() {
		f.Timeline.add(s)
	}
	maps.Copy(f.Open, from.Open)
	if from.NodeRecovered.After(f.NodeRecovered) {
		f.NodeRecovered = from.NodeRecovered
	}
	f.Failed(from.LastFailed)
	f.Counts.take(from.Counts)
	f.Turned, f.TurnedUnknown = f.Turned+from.Turned, f.TurnedUnknown+from.TurnedUnknown
	f.FoundUnknown, f.FoundNotReady = f.FoundUnknown+from.FoundUnknown, f.FoundNotReady+from.FoundNotReady
	f.Evicted += from.Evicted
	f.HeartbeatLost = f.HeartbeatLost || from.HeartbeatLost
	f.Longest = max(f.Longest, from.Longest)
	f.LostAgain += from.LostAgain
	for why, n := range from.ByCause {
		f.ByCause[why] += n
	}
	for x, n := range from.Quotes {
		f.Quotes.Add(x, n)
	}
	for _, x := range from.effects.keys {
		e := f.EffectOn(x)
		if e.take(from.effects.of[x]); e.Outages > 0 {
			f.effects.moveUp(x, MaxServices, (*Service).hasNoOutage)
		}
	}
	f.Members.take(&from.Members)
	for _, x := range from.Silences {
		f.AddSilence(x)
	}
	if from.waited.Lasted > f.waited.Lasted {
		f.waited = from.waited
	}
	f.Complaints.take(from.Complaints)
	from.Judgement.Merge(f.Judgement)
}
