package deploy

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The names in the example for Kubernetes are valid and lead to what it has: labels, ports, volumes and files. Its limits
// go together.
func TestManifestNames(t *testing.T) {
	config, deployment, service := manifest(t)
	pod := deployment.Spec.Template.Spec
	main := pod.Containers[0]
	names := []string{config.Name, deployment.Name, service.Name, main.Name}
	its := labels.Set(deployment.Spec.Template.Labels)
	for what, wanted := range map[string]map[string]string{"the deployment": deployment.Spec.Selector.MatchLabels, "the service": service.Spec.Selector} {
		if len(wanted) == 0 || !labels.SelectorFromSet(wanted).Matches(its) {
			t.Errorf("%s selects %v, and a pod has %v", what, wanted, its)
		}
	}
	var ports []string
	for _, p := range main.Ports {
		ports = append(ports, p.Name)
		names = append(names, p.Name)
		if !slices.ContainsFunc(main.Args, func(arg string) bool { return strings.HasPrefix(arg, "--listen=") && strings.HasSuffix(arg, ":8808") }) || p.ContainerPort != 8808 {
			t.Errorf("the port %d is not that of --listen in %q", p.ContainerPort, main.Args)
		}
	}
	for what, port := range map[string]string{
		"the service": service.Spec.Ports[0].TargetPort.String(), "readiness": main.ReadinessProbe.HTTPGet.Port.String(), "liveness": main.LivenessProbe.HTTPGet.Port.String(),
	} {
		if !slices.Contains(ports, port) {
			t.Errorf("%s is at the port %q, and there are %q", what, port, ports)
		}
	}
	mounts := make(map[string]string) // the folder of each volume
	for _, m := range main.VolumeMounts {
		mounts[m.Name] = m.MountPath
	}
	for _, v := range pod.Volumes {
		names = append(names, v.Name)
		if v.ConfigMap == nil || v.ConfigMap.Name != config.Name || mounts[v.Name] == "" {
			t.Errorf("the volume %q is not the config map %q, or is not mounted", v.Name, config.Name)
		}
		for _, arg := range main.Args {
			if _, file, ok := strings.Cut(arg, "="+mounts[v.Name]+"/"); ok && config.Data[file] == "" {
				t.Errorf("%s is not in the config map", arg)
			}
		}
	}
	for _, name := range names {
		if wrong := validation.IsDNS1123Label(name); wrong != nil {
			t.Errorf("%q: %v", name, wrong)
		}
	}
	limit := main.Resources.Limits.Memory().Value()
	for _, e := range main.Env {
		for _, wrong := range validation.IsEnvVarName(e.Name) {
			t.Errorf("%q: %s", e.Name, wrong)
		}
		if e.Name != "GOMEMLIMIT" {
			continue
		}
		if got, err := resource.ParseQuantity(strings.TrimSuffix(e.Value, "B")); err != nil || got.Value() > limit*4/5 || got.Value() < limit/2 {
			t.Errorf("GOMEMLIMIT is %s with a limit of %d bytes (%v)", e.Value, limit, err)
		}
	}
	for _, arg := range main.Args {
		if text, ok := strings.CutPrefix(arg, "--drain="); ok {
			drain, err := time.ParseDuration(text)
			if grace := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second; err != nil || grace <= drain {
				t.Errorf("%s with %v of grace (%v)", arg, grace, err)
			}
		}
	}
}
