package check

import (
	"strings"
	"testing"
)

// A tag that tells no release is no reason to warn for ever.
func TestVersionsAreComparedWhereTheyTellARelease(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		own     string
		have    []string
		verdict Verdict
		text    string
	}{
		{"v0.1.0", []string{"v0.1.0", "v0.1.0"}, OK, "v0.1.0"},
		{"v0.1.0", []string{"0.1.0", "v0.1.0"}, OK, "0.1.0"}, // an image by digest has the version of the label
		{"v0.1.0", []string{"v0.2.0", "v0.2.0"}, Warning, "v0.2.0 is installed, but this program is v0.1.0"},
		{"v0.1.0", []string{"v0.2.0", "v0.1.0"}, Warning, "they differ: a v0.2.0, b v0.1.0"},
		{"v0.1.0", []string{"latest", "latest"}, OK, "latest: that tells no release"},
		{"v0.1.0", []string{"main-4f2a91c"}, OK, "main-4f2a91c: that tells no release"},
		{"v0.1.0", []string{"latest", "main"}, Warning, "they differ"},
		{"v0.1.0", []string{"latest", "v0.1.0"}, Warning, "they differ"},
		{"(devel)", []string{"v0.2.0"}, OK, "v0.2.0"},
		{"(devel)", []string{"latest"}, OK, "latest"},
		{"v0.1.0", []string{"", ""}, Skipped, "the images have no tag"},
	} {
		texts := []string{"a " + c.have[0]}
		if len(c.have) > 1 {
			texts = append(texts, "b "+c.have[1])
		}
		r := &round{Checker: &Checker{options: Options{Version: c.own}}}
		if have := r.compareVersions(c.have, texts); have.Verdict != c.verdict || !strings.HasPrefix(have.Message, c.text) {
			t.Errorf("%s with %q: got %s: %s, want %s: %s", c.own, c.have, have.Verdict, have.Message, c.verdict, c.text)
		}
	}
}
