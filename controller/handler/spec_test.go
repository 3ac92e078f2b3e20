package handler_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/dogear-dev/dogear/controller/handler"
)

func TestSpecWithDefaultsFillsInWhatIsZero(t *testing.T) {
	t.Parallel()
	s := handler.Spec{ID: "myapp", On: handler.Create}.WithDefaults()
	if want := (handler.Retry{Initial: time.Second, Factor: 2, Max: 5 * time.Minute}); s.Retry != want {
		t.Errorf("Retry is %+v: want %+v", s.Retry, want)
	}
	if s.Timeout != 5*time.Minute {
		t.Errorf("Timeout is %s: want 5m", s.Timeout)
	}
	if err := s.Validate(); err != nil {
		t.Errorf("the defaults are not valid: %v", err)
	}
}

func TestSpecWithDefaultsKeepsWhatIsSet(t *testing.T) {
	t.Parallel()
	retry := handler.Retry{Limit: 3, Initial: time.Minute, Factor: 1, Max: time.Hour, Timeout: 2 * time.Hour}
	s := handler.Spec{Retry: retry, Timeout: -1}.WithDefaults()
	if s.Retry != retry || s.Timeout != -1 {
		t.Errorf("got %+v, %s: want what was set", s.Retry, s.Timeout)
	}
}

func TestTheDefaultOfMaxIsNoShorterThanInitial(t *testing.T) {
	t.Parallel()
	s := handler.Spec{ID: "myapp", On: handler.Create, Retry: handler.Retry{Initial: time.Hour}}.WithDefaults()
	if s.Retry.Max != time.Hour {
		t.Errorf("Max is %s: want 1h", s.Retry.Max)
	}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
}

func TestSpecValidateAcceptsIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"a", "A", "0", "my-app", "my_app", "my.app", "team-a/set/app", strings.Repeat("x", 253)} {
		if err := (handler.Spec{ID: id, On: handler.Create}).WithDefaults().Validate(); err != nil {
			t.Errorf("ID %q: %v", id, err)
		}
	}
}

func TestSpecValidateRefusesIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "-a", "a-", "/a", "a/", ".a", "a b", "a:b", "ä", "a\n", "a\nb", strings.Repeat("x", 254)} {
		err := (handler.Spec{ID: id, On: handler.Create}).WithDefaults().Validate()
		if err == nil || !strings.Contains(err.Error(), "want 1 to 253 letters") {
			t.Errorf("ID %q: got %v: want the rule for IDs", id, err)
		}
	}
}

func TestSpecValidateNamesTheFieldAndItsBound(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(s *handler.Spec)
		want   string
	}{
		"no cause":            {func(s *handler.Spec) { s.On = 0 }, "On: want at least one of Create, Update, Delete, Resume"},
		"an unknown cause":    {func(s *handler.Spec) { s.On = 16 }, "On: want at least one of"},
		"no selector":         {func(s *handler.Spec) { s.Labels = "a in b" }, `Labels "a in b": `},
		"negative limit":      {func(s *handler.Spec) { s.Retry.Limit = -1 }, "Retry.Limit is -1: want 0 (no limit) or more"},
		"shrinking factor":    {func(s *handler.Spec) { s.Retry.Factor = 0.5 }, "Retry.Factor is 0.5: want 1 or more"},
		"no number as factor": {func(s *handler.Spec) { s.Retry.Factor = math.NaN() }, "Retry.Factor is NaN: want 1 or more"},
		"infinite factor":     {func(s *handler.Spec) { s.Retry.Factor = math.Inf(1) }, "Retry.Factor is +Inf: want 1 or more"},
		"negative initial":    {func(s *handler.Spec) { s.Retry.Initial = -1 }, "want 0 <= Initial <= Max <= 24h"},
		"max below initial":   {func(s *handler.Spec) { s.Retry.Initial, s.Retry.Max = time.Hour, time.Minute }, "Retry.Initial is 1h0m0s and Retry.Max is 1m0s"},
		"max above a day":     {func(s *handler.Spec) { s.Retry.Max = 25 * time.Hour }, "Retry.Max is 25h0m0s: want 0 <= Initial <= Max <= 24h"},
		"negative time limit": {func(s *handler.Spec) { s.Retry.Timeout = -time.Second }, "Retry.Timeout is -1s: want 0 (none) or more"},
		"negative revision":   {func(s *handler.Spec) { s.Revision = -1 }, "Revision is -1: want 0 or more"},
		"negative workers":    {func(s *handler.Spec) { s.Concurrency = -1 }, "Concurrency is -1: want 0 (default) or more"},
		"payload on conditions": {
			func(s *handler.Spec) { s.Status.Path = "conditions" },
			"payloads would replace .status.conditions, which belongs to the object's owner",
		},
		"payload below conditions": {func(s *handler.Spec) { s.Status.Path = "conditions.x" }, "payloads would replace .status.conditions"},
		"payload on the ID's name": {func(s *handler.Spec) { s.ID = "observedGeneration" }, "payloads would replace .status.observedGeneration"},
		"a hole in the path":       {func(s *handler.Spec) { s.Status.Path = "a..b" }, `Status.Path "a..b": want names joined by dots`},
		"a dot at the end":         {func(s *handler.Spec) { s.Status.Path = "a." }, `Status.Path "a."`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := handler.Spec{ID: "myapp", On: handler.Create}
			test.change(&s)
			err := s.WithDefaults().Validate()
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), `handler "`) {
				t.Errorf("got %v: want the handler's name and %q", err, test.want)
			}
		})
	}
}

func TestSpecValidateReportsAllAtOnce(t *testing.T) {
	t.Parallel()
	err := handler.Spec{ID: "-", Retry: handler.Retry{Limit: -1}}.WithDefaults().Validate()
	for _, want := range []string{"ID", "On", "Retry.Limit"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v: want also %s", err, want)
		}
	}
}

func TestThePathOfAPayloadInTheAnnotationIsFree(t *testing.T) {
	t.Parallel()
	s := handler.Spec{ID: "conditions", On: handler.Create, Status: handler.StatusTarget{Target: handler.Annotation}}
	if err := s.WithDefaults().Validate(); err != nil {
		t.Error(err)
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		match   handler.Match
		value   string
		present bool
		want    bool
	}{
		{"the zero Match wants presence", handler.Match{}, "", true, true},
		{"present, any value", handler.Present, "x", true, true},
		{"present, but it is not", handler.Present, "", false, false},
		{"absent", handler.Absent, "", false, true},
		{"absent, but it is there", handler.Absent, "", true, false},
		{"equal", handler.Equals("x"), "x", true, true},
		{"not equal", handler.Equals("x"), "y", true, false},
		{"equal to nothing is not absent", handler.Equals(""), "", false, false},
		{"equal to the empty value", handler.Equals(""), "", true, true},
	} {
		if got := test.match.Matches(test.value, test.present); got != test.want {
			t.Errorf("%s: got %v", test.name, got)
		}
	}
}

func TestCausesReadAsWords(t *testing.T) {
	t.Parallel()
	for cause, want := range map[handler.Cause]string{
		0: "", handler.Create: "Create", handler.Create | handler.Delete: "Create|Delete",
		handler.Create | handler.Update | handler.Delete | handler.Resume: "Create|Update|Delete|Resume",
	} {
		if got := cause.String(); got != want {
			t.Errorf("got %q: want %q", got, want)
		}
	}
}
