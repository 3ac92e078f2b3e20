package check

import (
	"maps"
	"os"
	"path/filepath"
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

// Every check and every alert has its section, and every section is of one, or
// another page leads there.
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
	for _, page := range pages(t) {
		for _, to := range links(t, page) {
			if filepath.Base(to.file) == "troubleshooting.md" && page != to.file && there[to.section] {
				linked[to.section] = true
			}
		}
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

// pages are those of the documentation, from here.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(found) < 20 {
		t.Fatalf("%d pages, %v", len(found), err)
	}
	return append(found, "../../README.md")
}

// link is where a page leads to: a file, from here, and a section of it.
type link struct{ file, section string }

// links are those of a page that lead to files of the repository.
func links(t *testing.T, page string) (found []link) {
	t.Helper()
	text, err := os.ReadFile(page) //nolint:gosec // a file of the repository
	if err != nil {
		t.Fatal(err)
	}
	prose := regexp.MustCompile("(?ms)^ *```.*?^ *```$").ReplaceAllString(string(text), "")
	for _, match := range regexp.MustCompile(`\]\(([^)#]*)(?:#([^)]*))?\)`).FindAllStringSubmatch(prose, -1) {
		switch {
		case strings.Contains(match[1], "://"):
		case match[1] == "":
			found = append(found, link{page, match[2]})
		default:
			found = append(found, link{filepath.Join(filepath.Dir(page), match[1]), match[2]})
		}
	}
	return found
}

// Links lead to files that are there, and to sections that they have.
func TestLinksOfTheDocumentation(t *testing.T) {
	t.Parallel()
	count := 0
	for _, page := range pages(t) {
		for _, to := range links(t, page) {
			count++
			if _, err := os.Stat(to.file); err != nil {
				t.Errorf("%s: %v", page, err)
				continue
			}
			if to.section == "" {
				continue
			}
			content, err := os.ReadFile(to.file)
			if err != nil {
				t.Errorf("%s: %v", page, err)
				continue
			}
			titles := regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(content), -1)
			if !slices.ContainsFunc(titles, func(title []string) bool { return anchor(title[1]) == to.section }) {
				t.Errorf("%s: %s has no section %q", page, to.file, to.section)
			}
		}
	}
	if count < 100 {
		t.Errorf("only %d links found", count)
	}
}

// Commands can be pasted: nothing is left out of them.
func TestCommandsOfTheDocumentationAreWhole(t *testing.T) {
	t.Parallel()
	leftOut := regexp.MustCompile(`(?m)^ *\$ [^#\n]*( \.\.\.|…).*$`)
	for _, page := range pages(t) {
		text, err := os.ReadFile(page) //nolint:gosec // a file of the repository
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range leftOut.FindAllString(string(text), -1) {
			t.Errorf("%s: something is left out of %s", page, command)
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
