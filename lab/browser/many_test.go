package browser

import (
	"errors"
	"path/filepath"

	"github.com/kubeflap/kubeflap/exporter/clustertest"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/recording"
)

// The crashes are as many incidents as kubeflap keeps by default. They begin one after another. At last, watches break.
// fourCrashed and oneMore are times at which the first have crashed.
const (
	crashes = `start 2
repeat 500 every 10
    0 deploy app-$i 2
    20 crash app-$i/1 for 5
5400 break pods endpointslices: timeout
`
	fourCrashed, oneMore, blinded = 58, 68, 5500
)

// recorded writes a recording of a story up to a second, and returns its path.
func recorded(name, story string, end float64) (string, error) {
	x := clustertest.Parse(story)
	c := x.Cluster(0)
	path := filepath.Join(directory, name+".jsonl.gz")
	w, err := recording.Create(path, recording.Header{Recorded: c.Now})
	if err != nil {
		return "", err
	}
	c.Watchers[0].Sink = func(e event.Event) { err = errors.Join(err, w.Write(e)) }
	c.Start()
	c.RunUntil(end)
	return path, errors.Join(err, w.Close())
}
