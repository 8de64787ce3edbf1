package recording

import (
	"maps"
	"slices"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// labels returns pseudonyms for the labels of a pod or a selector. Equal labels get equal pseudonyms, so a selector
// matches the same pods as before.
func (p *pseudonyms) labels(original map[string]string) map[string]string {
	return replaceEntries(original, func(key, value string) (string, string) {
		return p.unlessKnown(podLabels.contain(key), realName{"key", "", key}), p.pseudonym(realName{"value", "", value})
	})
}

// nodeLabels keeps the label keys in event.NodeLabels. Their values get pseudonyms such as "zone-2".
func (p *pseudonyms) nodeLabels(original map[string]string) map[string]string {
	known := event.NodeLabels()
	return replaceEntries(original, func(key, value string) (string, string) {
		at := slices.IndexFunc(known, func(l event.NodeLabel) bool { return l.Key == key })
		if at < 0 {
			return p.pseudonym(realName{"key", "", key}), p.pseudonym(realName{"value", "", value})
		}
		noun := strings.ReplaceAll(known[at].Trait.String(), " ", "-")
		return key, p.pseudonym(realName{noun, "", value})
	})
}

// replaceEntries replaces the entries in the order of their keys, so that the result is deterministic. It returns nil
// for a nil map, which means that the labels are unknown.
func replaceEntries(original map[string]string, replace func(key, value string) (string, string)) map[string]string {
	if original == nil {
		return nil
	}
	replaced := make(map[string]string, len(original))
	for _, key := range slices.Sorted(maps.Keys(original)) {
		newKey, value := replace(key, original[key])
		replaced[newKey] = value
	}
	return replaced
}
