package browser

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"time"
)

// many is the number of incidents that kubeflap keeps by default.
const many = 500

// crashes writes a recording in which a container crashes in each of many Deployments of two pods, one after another.
// At the end, the given watches are broken.
func crashes(broken ...string) (string, error) {
	file, err := os.CreateTemp(directory, "crashes-*.jsonl")
	if err != nil {
		return "", err
	}
	out := bufio.NewWriter(file)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	line := func(text string, args ...any) {
		fmt.Fprintf(out, `{"seen":%q,`+text+"}\n", append([]any{now.Format(time.RFC3339Nano)}, args...)...)
	}
	fmt.Fprintln(out, `{"kubeflap":"recording","version":2,"recorded":"2026-03-01T12:00:00Z","anonymised":false}`)
	lists(line)
	for i := range many {
		for _, ready := range []bool{false, true} {
			now = now.Add(5 * time.Second)
			line(`"kind":"pods","type":"modified","object":%s`, pod(i, 0, ready))
			line(`"kind":"endpointslices","type":"modified","object":%s`, slice(i, ready))
		}
	}
	// Crashes of one Deployment within two minutes belong to one incident, so they are five minutes apart.
	now = now.Add(5 * time.Minute)
	line(`"kind":"pods","type":"bookmark"`)
	for _, kind := range broken {
		line(`"kind":%q,"type":"down","reason":"timeout"`, kind)
	}
	now = now.Add(90 * time.Second)
	line(`"kind":"pods","type":"bookmark"`)
	return file.Name(), errors.Join(out.Flush(), file.Close())
}

// lists writes the objects that exist at the start.
func lists(line func(string, ...any)) {
	objects := map[string]func(i int) []string{
		"nodes": nil, "leases": nil, "endpoints": nil,
		"services": func(i int) []string {
			return []string{fmt.Sprintf(`{"uid":%q,"namespace":"shop","name":"app-%[2]d","type":"ClusterIP","selector":{"app":"app-%[2]d"}}`, uid(3, i), i)}
		},
		"pods":           func(i int) []string { return []string{pod(i, 0, true), pod(i, 1, true)} },
		"endpointslices": func(i int) []string { return []string{slice(i, true)} },
	}
	for kind, of := range objects {
		line(`"kind":%q,"type":"listing"`, kind)
		for i := range many {
			if of == nil {
				break
			}
			for _, object := range of(i) {
				line(`"kind":%q,"type":"listed","object":%s`, kind, object)
			}
		}
		line(`"kind":%q,"type":"synced"`, kind)
	}
}

func uid(kind, i int) string { return fmt.Sprintf("00000000-0000-4000-%04d-%012d", 8000+kind, i) }

func pod(i, replica int, ready bool) string {
	text := fmt.Sprintf(`{"uid":%q,"namespace":"shop","name":"app-%d-%d","node":"node-1","phase":"Running","owner":"ReplicaSet/app-%d",`,
		uid(replica, i), i, replica, i)
	if ready {
		return text + `"ready":{"status":"true"},"containersReady":"true","containers":[{"name":"app","ready":true,"state":"running"}]}`
	}
	return text + `"ready":{"status":"false","reason":"ContainersNotReady"},"containersReady":"false",` +
		`"containers":[{"name":"app","state":"terminated","reason":"Error","exitCode":1}]}`
}

func slice(i int, ready bool) string {
	return fmt.Sprintf(`{"uid":%q,"namespace":"shop","name":"app-%d-a","service":"app-%d","owner":%q,"managedBy":"endpointslice-controller.k8s.io",`+
		`"writer":"kube-controller-manager","addresses":[{"uid":%q,"ip":"10.0.0.1","ready":%t,"serving":%t},{"uid":%q,"ip":"10.0.0.2","ready":true,"serving":true}]}`,
		uid(2, i), i, i, uid(3, i), uid(0, i), ready, ready, uid(1, i))
}
