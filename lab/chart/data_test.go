package chart

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// dataVolume returns the volume that is mounted at /data, or nil.
func dataVolume(d *appsv1.Deployment) *corev1.Volume {
	p := d.Spec.Template.Spec
	i := slices.IndexFunc(p.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/data" && !m.ReadOnly })
	if i < 0 {
		return nil
	}
	name := p.Containers[0].VolumeMounts[i].Name
	return &p.Volumes[slices.IndexFunc(p.Volumes, func(v corev1.Volume) bool { return v.Name == name })]
}

func TestDataIsInAnEmptyDir(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]struct {
		args  []string
		limit string
	}{
		"{}":                                  {[]string{"--data.dir=/data", "--data.size=256MiB", "--data.age=14d"}, "512Mi"},
		"{data: {size: 1GiB, sizeLimit: ''}}": {[]string{"--data.dir=/data", "--data.size=1GiB"}, ""},
	} {
		objects := render(t, input)
		d := the[appsv1.Deployment](t, objects)
		c := d.Spec.Template.Spec.Containers[0]
		for _, arg := range want.args {
			if !slices.Contains(c.Args, arg) {
				t.Errorf("%s: no %s in the arguments %v", input, arg, c.Args)
			}
		}
		v := dataVolume(d)
		if v == nil || v.EmptyDir == nil || (v.EmptyDir.SizeLimit == nil) != (want.limit == "") || want.limit != "" && v.EmptyDir.SizeLimit.String() != want.limit {
			t.Errorf("%s: got volume %+v, want an emptyDir with the limit %q", input, v, want.limit)
		}
		if !*c.SecurityContext.ReadOnlyRootFilesystem || len(all[corev1.PersistentVolumeClaim](objects)) != 0 {
			t.Errorf("%s: the root file system is writable, or there is a PersistentVolumeClaim", input)
		}
	}
	off := the[appsv1.Deployment](t, render(t, "{data: {enabled: false}}"))
	if dataVolume(off) != nil || slices.Contains(off.Spec.Template.Spec.Containers[0].Args, "--data.dir=/data") {
		t.Error("data.enabled is false, but there is a volume or --data.dir")
	}
}

func TestDataIsInAClaim(t *testing.T) {
	t.Parallel()
	objects := render(t, values(t, chart+"/ci/persistence-values.yaml"))
	d := the[appsv1.Deployment](t, objects)
	claim := the[corev1.PersistentVolumeClaim](t, objects)
	if v := dataVolume(d); v == nil || v.PersistentVolumeClaim == nil || v.PersistentVolumeClaim.ClaimName != claim.Name {
		t.Errorf("got volume %+v, want the claim %s", v, claim.Name)
	}
	if claim.Spec.Resources.Requests.Storage().String() != "4Gi" || *claim.Spec.StorageClassName != "fast" || claim.Spec.AccessModes[0] != corev1.ReadWriteOncePod ||
		claim.Annotations["helm.sh/resource-policy"] != "keep" {
		t.Errorf("claim %+v", claim)
	}
	// A rolling update would never end. The new pod would wait for the volume, which the old pod keeps until the new
	// pod is ready.
	if s := d.Spec.Strategy; s.Type != appsv1.RecreateDeploymentStrategyType || s.RollingUpdate != nil {
		t.Errorf("strategy %+v", s)
	}
	if p := d.Spec.Template.Spec.SecurityContext; *p.FSGroup != 65534 || *p.FSGroupChangePolicy != corev1.FSGroupChangeOnRootMismatch {
		t.Errorf("the container's user cannot write to the volume: %+v", p)
	}
	const existing = "{replicas: 1, hostNetwork: true, persistence: {enabled: true, existingClaim: ours}, podSecurityContext: {runAsUser: null, runAsGroup: null}}"
	objects = render(t, existing)
	d = the[appsv1.Deployment](t, objects)
	if v := dataVolume(d); v.PersistentVolumeClaim.ClaimName != "ours" || len(all[corev1.PersistentVolumeClaim](objects)) != 0 {
		t.Errorf("got volume %+v, want the existing claim", v)
	}
	if d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType || d.Spec.Template.Spec.SecurityContext.FSGroup != nil {
		t.Errorf("unexpected strategy or security context with hostNetwork and no user: %+v, %+v", d.Spec.Strategy, d.Spec.Template.Spec.SecurityContext)
	}
}
