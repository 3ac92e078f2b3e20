package check

import "slices"

// Report is what came of all checks, and the document of -o json.
type Report struct {
	// Version is that of the program that has checked.
	Version string        `json:"version"`
	Groups  []GroupReport `json:"groups"`
	Summary Summary       `json:"summary"`
}

// GroupReport has the checks of a group, in the order in which they were made.
type GroupReport struct {
	Name   string        `json:"name"`
	Checks []CheckReport `json:"checks"`
}

// CheckReport is what came of a check.
type CheckReport struct {
	Name    string   `json:"name"`
	Verdict Verdict  `json:"result"`
	Message string   `json:"message"`
	Hint    string   `json:"hint,omitempty"`
	Link    string   `json:"link"`
	Objects []string `json:"objects,omitempty"`
	More    int      `json:"more,omitempty"`

	unmade bool // something essential failed before
}

// Summary counts the checks by what came of them.
type Summary struct {
	// Verdict is Failed if one has failed, else Warning if there is one, else OK.
	Verdict  Verdict `json:"result"`
	OK       int     `json:"ok"`
	Warnings int     `json:"warnings"`
	Failed   int     `json:"failed"`
	Skipped  int     `json:"skipped"`
}

// Page is where the sections are that checks link to.
const Page = "https://github.com/dogear-dev/dogear/blob/main/docs/troubleshooting.md"

func (r *Report) add(c Check, result Result, unmade bool) {
	i := slices.IndexFunc(r.Groups, func(g GroupReport) bool { return g.Name == c.Group })
	if i < 0 {
		i = len(r.Groups)
		r.Groups = append(r.Groups, GroupReport{Name: c.Group})
	}
	g := &r.Groups[i]
	g.Checks = append(g.Checks, CheckReport{
		Name: c.Name, Verdict: result.Verdict, Message: result.Message, Hint: result.Hint,
		Link: Page + "#" + c.Link, Objects: result.Objects, More: result.More, unmade: unmade,
	})
	r.Summary.count(result.Verdict)
}

func (s *Summary) count(v Verdict) {
	switch v {
	case OK:
		s.OK++
	case Warning:
		s.Warnings++
	case Failed:
		s.Failed++
	case Skipped:
		s.Skipped++
	}
	switch {
	case s.Failed > 0:
		s.Verdict = Failed
	case s.Warnings > 0:
		s.Verdict = Warning
	default:
		s.Verdict = OK
	}
}

// OK tells that no check has failed.
func (r *Report) OK() bool { return r.Summary.Failed == 0 }

// failures names the checks that have failed, with what was found.
func (r *Report) failures() (all []string) {
	for _, g := range r.Groups {
		for _, c := range g.Checks {
			if c.Verdict == Failed {
				all = append(all, g.Name+": "+c.Name+": "+firstLine(c.Message))
			}
		}
	}
	return all
}
