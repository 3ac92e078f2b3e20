package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// parseFile reads the texts of the settings in a YAML file by their paths. A
// key that is no setting is an error, as is one that is there twice. null is
// as good as absent.
func parseFile(content []byte, entries []entry) (map[string][]string, error) {
	plain, err := yaml.YAMLToJSONStrict(content)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(plain))
	decoder.UseNumber()
	var root any
	if err := decoder.Decode(&root); err != nil {
		return nil, err
	}
	p := parser{known: map[string]bool{}, found: map[string][]string{}}
	for _, e := range entries {
		p.known[e.path] = true
		if group, _, nested := strings.Cut(e.path, "."); nested {
			p.known[group] = false
		}
	}
	switch root := root.(type) {
	case nil:
	case map[string]any:
		p.object("", root)
	default:
		return nil, errors.New("want an object, such as workers: 16")
	}
	return p.found, errors.Join(p.errs...)
}

type parser struct {
	known map[string]bool // true: a setting; false: a group of them
	found map[string][]string
	errs  []error
}

func (p *parser) object(prefix string, object map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		path := prefix + key
		setting, known := p.known[path]
		if !known || strings.Contains(key, ".") {
			p.errs = append(p.errs, fmt.Errorf("unknown key %q%s", path, p.hint(path)))
			continue
		}
		switch value := object[key].(type) {
		case nil:
		case map[string]any:
			if setting {
				p.errs = append(p.errs, fmt.Errorf("%s: want a value, not an object", path))
				continue
			}
			p.object(path+".", value)
		default:
			if !setting {
				p.errs = append(p.errs, fmt.Errorf("%s: want an object", path))
				continue
			}
			p.setting(path, value)
		}
	}
}

func (p *parser) setting(path string, value any) {
	items, ok := value.([]any)
	if !ok {
		items = []any{value}
	}
	texts := []string{}
	for _, item := range items {
		switch item.(type) {
		case string, bool, json.Number:
			texts = append(texts, fmt.Sprint(item))
		default:
			p.errs = append(p.errs, fmt.Errorf("%s: want texts, numbers, true or false", path))
			return
		}
	}
	p.found[path] = texts
}

// hint names the known key that is nearest to an unknown one.
func (p *parser) hint(path string) string {
	return hint(path, slices.Sorted(maps.Keys(p.known)), func(key string) string { return key })
}

// hint names the setting or group that is nearest to an unknown name. name is
// what a path is called where that was found.
func hint(unknown string, paths []string, name func(path string) string) string {
	best, least := "", 4 // more differences than three are another word
	for _, path := range paths {
		if n := distance(strings.ToLower(unknown), strings.ToLower(name(path))); n < least {
			best, least = name(path), n
		}
		if _, last, nested := strings.Cut(path, "."); nested && strings.EqualFold(name(last), unknown) && least > 1 {
			best, least = name(path), 1
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %q?", best)
}

// distance is the number of letters to add, remove or replace between two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := before
			if a[i] != b[j] {
				replaced++
			}
			before = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
