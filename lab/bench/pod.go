package bench

import corev1 "k8s.io/api/core/v1"

// podObject returns a pod of a Deployment that has run for a long time. It contains an application and a sidecar.
func (s Size) podObject(i int) *corev1.Pod {
	service, node := s.serviceOf(i), s.nodeOf(i)
	app := s.service(service)
	return fromTemplate[corev1.Pod](podTemplate(), map[string]string{
		"pod": s.pod(i), "app": app, "namespace": s.namespace(service), "node": s.node(node), "ip": podIP(i), "hostIP": nodeIP(node),
		"template": templateHash(app), "replicaset": hash("replicaset", app)[:12], "token": tokenVolume(app),
		"config": digest("config", app), "secret": digest("secret", app), "image": digest("registry.example.com/shop/" + app + ":2.14.3"),
		"container": digest("app", i), "proxy": digest("proxy", i),
	})
}

func templateHash(app string) string { return hash("template", app)[:10] }

func tokenVolume(app string) string { return "kube-api-access-" + hash("token", app)[:5] }
