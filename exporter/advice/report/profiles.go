package report

import "time"

// Profile is a well-known combination of four settings, with its effects in the cluster.
type Profile struct {
	Name         string  `json:"name"`
	StatusUpdate float64 `json:"node_status_update_frequency_seconds"`
	Monitor      float64 `json:"node_monitor_period_seconds"`
	Grace        float64 `json:"node_monitor_grace_period_seconds"`
	// Eviction is --pod-eviction-timeout, which was removed in v1.27.
	Eviction float64 `json:"pod_eviction_timeout_seconds"`
	// StatusWrites is the number of status writes of all nodes per minute. It assumes that nodeStatusUpdateFrequency is
	// set in the configuration of each kubelet.
	StatusWrites float64 `json:"node_status_writes_per_minute"`
	Renewals     int     `json:"renewals_in_grace_period"`
	// Safe reports whether a kubelet can miss one renewal without its node becoming Unknown.
	Safe bool `json:"safe"`
}

func profiles(nodes int, every time.Duration) []Profile {
	all := make([]Profile, 0, 4)
	add := func(name string, update, monitor, grace, eviction time.Duration) {
		b := heartbeats{grace: grace, heartbeatInterval: every}
		all = append(all, Profile{
			Name: name, StatusUpdate: update.Seconds(), Monitor: monitor.Seconds(), Grace: grace.Seconds(), Eviction: eviction.Seconds(),
			StatusWrites: rounded(float64(nodes) * time.Minute.Seconds() / update.Seconds()),
			Renewals:     b.renewals(), Safe: b.renewals() > 1,
		})
	}
	add("default", 10*time.Second, 5*time.Second, 40*time.Second, 5*time.Minute)
	add("fast", 4*time.Second, 2*time.Second, 20*time.Second, 30*time.Second)
	add("medium", 20*time.Second, 5*time.Second, 2*time.Minute, time.Minute)
	add("slow", time.Minute, 5*time.Second, 5*time.Minute, time.Minute)
	return all
}
