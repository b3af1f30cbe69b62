package node

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const somewhere = layout("/tmp/holdfast-node-1")

func TestAllThatANodeDoesToThisMachinesNetworkGoesWithItsInterface(t *testing.T) {
	for _, words := range somewhere.plan(42, "hfntest", nil).Outside {
		command := strings.Join(words, " ")
		if !strings.HasPrefix(command, "nsenter --net=/proc/42/ns/net -- ip ") {
			t.Errorf("%q is not about the network of the process that starts the node", command)
		}
		if !strings.Contains(command, " hfntest") {
			t.Errorf("%q stays when the interface is gone", command)
		}
	}
}

func TestWhatKubeletWantsOfTheKernelIsSeenByTheNodeAlone(t *testing.T) {
	over := somewhere.plan(42, "hfntest", nil).Over
	for _, path := range slices.Sorted(maps.Keys(over)) {
		if instead := over[path]; !strings.HasPrefix(instead, string(somewhere)+"/") {
			t.Errorf("%s is seen as %s, which is not the node's own", path, instead)
		}
	}
	for _, path := range []string{"/run", "/var/lib", "/var/log", "/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/panic"} {
		if over[path] == "" {
			t.Errorf("%s is this machine's", path)
		}
	}
}

func TestTheConfigurationsAreReadAsWhatTheyAre(t *testing.T) {
	for kind, text := range map[string]string{"KubeletConfiguration": somewhere.kubeletConfig(), "KubeProxyConfiguration": somewhere.proxyConfig()} {
		var got struct{ Kind string }
		if err := yaml.UnmarshalStrict([]byte(text), &map[string]any{}); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if err := yaml.Unmarshal([]byte(text), &got); err != nil || got.Kind != kind {
			t.Errorf("%s: read as %q, %v", kind, got.Kind, err)
		}
	}
	if text := somewhere.cniConfig(); !json.Valid([]byte(text)) {
		t.Errorf("no JSON: %s", text)
	}
}
