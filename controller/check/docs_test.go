package check

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sections are the anchors of the sections of a page.
func sections(t *testing.T, page string) (anchors map[string]bool) {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	anchors = map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(line, "### "); ok {
			anchors[anchor(title)] = true
		}
	}
	return anchors
}

var dropped = regexp.MustCompile(`[^a-z0-9 -]`)

// anchor is what GitHub makes of a title.
func anchor(title string) string {
	return strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), ""), " ", "-")
}

// allChecks are those of the service and those of an operator.
func allChecks() []Check {
	service := &round{Checker: &Checker{}}
	operator := &round{Checker: &Checker{options: Options{Domain: "example.com"}}}
	return slices.Concat(service.checks(), operator.checks())
}

// Every check and every alert has its section, and every section is of one.
func TestEverySectionOfTroubleshootingIsLinked(t *testing.T) {
	t.Parallel()
	there := sections(t, "troubleshooting.md")
	linked := map[string]bool{}
	for _, c := range allChecks() {
		linked[c.Link] = true
	}
	alerts, err := os.ReadFile("../../charts/dogear/templates/metrics/_alerts.tpl")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(alerts), -1)
	if len(found) < 9 {
		t.Errorf("only %d alerts found", len(found))
	}
	for _, match := range found {
		linked[strings.ToLower(match[1])] = true
	}
	for _, name := range slices.Sorted(maps.Keys(linked)) {
		if !there[name] {
			t.Errorf("docs/troubleshooting.md has no section %q, which is linked", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if !linked[name] {
			t.Errorf("docs/troubleshooting.md: nothing links to the section %q", name)
		}
	}
}

// Links inside of the page lead somewhere, and those to others to pages that are there.
func TestLinksOfTheDocumentation(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"troubleshooting.md", "check.md"} {
		text, err := os.ReadFile("../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`\]\(([^)#]*)(?:#([^)]*))?\)`).FindAllStringSubmatch(string(text), -1) {
			if strings.HasPrefix(match[1], "http") {
				continue
			}
			to := match[1]
			if to == "" {
				to = page
			}
			content, err := os.ReadFile("../../docs/" + to)
			if err != nil {
				t.Errorf("%s: %v", page, err)
				continue
			}
			titles := regexp.MustCompile(`(?m)^##+ (.*)$`).FindAllStringSubmatch(string(content), -1)
			if match[2] != "" && !slices.ContainsFunc(titles, func(title []string) bool { return anchor(title[1]) == match[2] }) {
				t.Errorf("%s: %s has no section %q", page, to, match[2])
			}
		}
	}
}

// Checks are told apart by group and name, in scripts too.
func TestChecksHaveNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range (&round{Checker: &Checker{}}).checks() {
		key := c.Group + "/" + c.Name
		if seen[key] || c.Group == "" || c.Name == "" || c.Link == "" || c.Run == nil {
			t.Errorf("%q is there twice, or incomplete: %+v", key, c)
		}
		seen[key] = true
	}
}
