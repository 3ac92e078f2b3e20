package storage

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDigestIsAContractBetweenReleases compares with digests in testdata,
// computed by an independent program. They are on objects in clusters: a
// release that computes another one makes every handler run again everywhere.
// Add vectors; never change one.
func TestDigestIsAContractBetweenReleases(t *testing.T) {
	t.Parallel()
	for name, g := range goldens(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := decode(t, g.object)
			if diff := cmp.Diff(g.essence, string(Rules{}.Essence(object))); diff != "" {
				t.Errorf("essence (-want +got):\n%s", diff)
			}
			if got := (Rules{}).Digest(object); got != g.digest {
				t.Errorf("digest is %s, want %s", got, g.digest)
			}
			if got := DigestOf([]byte(g.essence)); got != g.digest {
				t.Errorf("digest of the essence is %s, want %s", got, g.digest)
			}
		})
	}
}

func TestDigestIsIndependentOfOrderAndWhiteSpace(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for name, g := range goldens(t) {
		for range 10 {
			text := shuffled(random, decode(t, g.object))
			if got := (Rules{}).Digest(decode(t, text)); got != g.digest {
				t.Fatalf("%s: digest is %s, want %s, for\n%s", name, got, g.digest, text)
			}
		}
	}
}

func TestEssenceLeavesTheObjectAsItIs(t *testing.T) {
	t.Parallel()
	rules := Rules{OwnStatus: [][]string{{"issue"}}, OwnConditions: []string{"Issued"}}
	for name, g := range goldens(t) {
		object := decode(t, g.object)
		rules.Essence(object)
		rules.Digest(object)
		rules.BirthDigest(object)
		rules.FieldsDigest(object, paths(t, "spec", "status", "metadata", "status.conditions"))
		if diff := cmp.Diff(decode(t, g.object), object); diff != "" {
			t.Errorf("%s changed (-before +after):\n%s", name, diff)
		}
	}
}

func TestEssenceIsItsOwnCanonicalForm(t *testing.T) {
	t.Parallel()
	for name, g := range goldens(t) {
		if got := string(AppendCanonical(nil, decode(t, g.essence))); got != g.essence {
			t.Errorf("%s: canonical form of the essence is\n%s, want\n%s", name, got, g.essence)
		}
	}
}

type golden struct{ object, digest, essence string }

func goldens(t *testing.T) map[string]golden {
	t.Helper()
	files, err := filepath.Glob("testdata/golden/*.json")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d golden objects, %v", len(files), err)
	}
	all := make(map[string]golden, len(files))
	for _, file := range files {
		object, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(strings.TrimSuffix(file, ".json") + ".golden")
		if err != nil {
			t.Fatal(err)
		}
		digest, essence, _ := strings.Cut(strings.TrimSuffix(string(want), "\n"), "\n")
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = golden{string(object), digest, essence}
	}
	return all
}

// shuffled writes JSON with the members of objects in random order.
func shuffled(random *rand.Rand, v any) string {
	switch v := v.(type) {
	case map[string]any:
		var members []string
		for key, value := range v {
			name, _ := json.Marshal(key)
			members = append(members, fmt.Sprintf(" %s :\n%s", name, shuffled(random, value)))
		}
		random.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		return "{" + strings.Join(members, ",\t") + "}"
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = shuffled(random, item)
		}
		return "[ " + strings.Join(items, " , ") + " ]"
	}
	text, _ := json.Marshal(v)
	return string(text)
}
