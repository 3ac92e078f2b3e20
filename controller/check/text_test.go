package check

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func always(group, name string, r Result) Check {
	return Check{Group: group, Name: name, Link: "link", Run: func(context.Context) Result { return r }}
}

var several = []Check{
	always("one", "good", passed("as it should be")),
	always("two", "doubtful", warned("a\nb").hint("look at it\ntwice").about("x", "y")),
	always("one", "bad", failed("%d of it", 3).hint("mend it")),
	always("two", "hidden", skipped("you may not look")),
}

func TestTextIsPlainWithoutATerminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), "v1", several).Text(&out, Style{}); err != nil {
		t.Fatal(err)
	}
	const want = `one
  ok   good: as it should be
  FAIL bad: 3 of it
       hint: mend it
       see: https://github.com/dogear-dev/dogear/blob/main/docs/troubleshooting.md#link

two
  warn doubtful: a
       b
       - x
       - y
       hint: look at it
             twice
       see: https://github.com/dogear-dev/dogear/blob/main/docs/troubleshooting.md#link
  skip hidden: you may not look

FAIL Something is wrong: 1 check failed, 1 warning, 1 skipped, 1 ok
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestTextOnATerminalHasIconsAndColours(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), "v1", several[:1]).Text(&out, Style{Color: true}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\x1b[32m✓\x1b[0m good: as it should be", "No fault was found"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %q", want, out.String())
		}
	}
}

func TestJSONIsOneDocument(t *testing.T) {
	t.Parallel()
	out, err := json.Marshal(run(t.Context(), "v1", several))
	if err != nil {
		t.Fatal(err)
	}
	var have map[string]any
	if err := json.Unmarshal(out, &have); err != nil {
		t.Fatal(err)
	}
	link := Page + "#link"
	want := map[string]any{
		"version": "v1",
		"groups": []any{
			map[string]any{"name": "one", "checks": []any{
				map[string]any{"name": "good", "result": "ok", "message": "as it should be", "link": link},
				map[string]any{"name": "bad", "result": "failed", "message": "3 of it", "hint": "mend it", "link": link},
			}},
			map[string]any{"name": "two", "checks": []any{
				map[string]any{"name": "doubtful", "result": "warning", "message": "a\nb", "hint": "look at it\ntwice", "link": link, "objects": []any{"x", "y"}},
				map[string]any{"name": "hidden", "result": "skipped", "message": "you may not look", "link": link},
			}},
		},
		"summary": map[string]any{"result": "failed", "ok": 1.0, "warnings": 1.0, "failed": 1.0, "skipped": 1.0},
	}
	if !reflect.DeepEqual(have, want) {
		t.Errorf("got\n%s\nwant\n%v", out, want)
	}
}

func TestAWarningIsNoFailure(t *testing.T) {
	t.Parallel()
	r := run(t.Context(), "v1", several[1:2])
	if !r.OK() || r.Summary.Verdict != Warning {
		t.Errorf("got %+v", r.Summary)
	}
	if r := run(t.Context(), "v1", several); r.OK() || r.Summary.Verdict != Failed {
		t.Errorf("got %+v", r.Summary)
	}
	if r := run(t.Context(), "v1", several[3:]); !r.OK() || r.Summary.Verdict != OK {
		t.Errorf("got %+v", r.Summary)
	}
}

func TestNothingIsCheckedWithoutWhatIsEssential(t *testing.T) {
	t.Parallel()
	essential := several[2]
	essential.Essential = true
	r := run(t.Context(), "v1", []Check{essential, several[0], several[1]})
	if r.Summary.Skipped != 2 || r.Groups[1].Checks[0].Message != "not looked at: first mend one: bad" {
		t.Errorf("got %+v", r)
	}
	var out strings.Builder
	if err := r.Text(&out, Style{}); err != nil || strings.Contains(out.String(), "two") || !strings.Contains(out.String(), "1 check failed, 2 not looked at") {
		t.Errorf("got %s, %v", out.String(), err)
	}
}

func TestWhatTheTimeWasTooShortForHasFailed(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	slow := Check{Group: "one", Name: "slow", Run: func(context.Context) Result {
		cancel()
		return skipped("%s", context.Canceled)
	}}
	r := run(ctx, "v1", []Check{several[0], slow, several[1]})
	if r.Summary.OK != 1 || r.Summary.Failed != 1 || r.Summary.Skipped != 1 || !strings.Contains(r.Groups[0].Checks[1].Hint, "--timeout") {
		t.Errorf("got %+v", r)
	}
}

func TestAResultNamesTenObjects(t *testing.T) {
	t.Parallel()
	var all []string
	for i := range 13 {
		all = append(all, fmt.Sprint(i))
	}
	if have := failed("x").about(all...); len(have.Objects) != 10 || have.Objects[9] != "9" || have.More != 3 {
		t.Errorf("got %+v", have)
	}
	if have := failed("x").about(all[:10]...); len(have.Objects) != 10 || have.More != 0 {
		t.Errorf("got %+v", have)
	}
	var out strings.Builder
	if err := run(t.Context(), "v1", []Check{always("one", "many", failed("x").about(all...))}).Text(&out, Style{}); err != nil ||
		!strings.Contains(out.String(), "       - 9\n       - and 3 more\n       hint: ") {
		t.Errorf("%v, got %s", err, out.String())
	}
}

// Whoever may write an event or an annotation must not draw on the terminal of
// the administrator who looks.
func TestWhatOthersHaveWrittenDoesNotReachTheTerminal(t *testing.T) {
	t.Parallel()
	const evil = "a\x1b[2Jb\rc\x07d\u009b31me\nnext"
	r := run(t.Context(), "v1", []Check{always("one", "bad", failed("%s", evil).hint("%s", evil).about(evil, "plain"))})
	for _, style := range []Style{{}, {Color: true}} {
		var out strings.Builder
		if err := r.Text(&out, style); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "a [2Jb c d 31me\n"); n != 3 || strings.ContainsAny(out.String(), "\r\x07\u009b") || strings.Contains(out.String(), "\x1b[2J") {
			t.Errorf("%d of 3 are as they should be: %q", n, out.String())
		}
		if !strings.Contains(out.String(), "  next\n") {
			t.Errorf("what has several lines does not have them any more: %q", out.String())
		}
	}
	if have := r.failures(); len(have) != 1 || have[0] != "one: bad: a [2Jb c d 31me" {
		t.Errorf("what is waited for: %q", have)
	}
}
