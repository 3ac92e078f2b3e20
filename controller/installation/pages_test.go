package installation_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dogear-dev/dogear/controller/installation"
)

type metas = metav1.PartialObjectMetadataList

// page is one that goes on at a token.
func page(next string) *metas { return &metas{ListMeta: metav1.ListMeta{Continue: next}} }

func expired(next string) error {
	err := apierrors.NewResourceExpired("too old")
	err.ErrStatus.Continue = next
	return err
}

// reply is to one request for a page.
type reply struct {
	page *metas
	err  error
}

func TestPages(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken pipe")
	busy := apierrors.NewTooManyRequests("busy", 0)
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", nil)
	for name, c := range map[string]struct {
		replies []reply
		asked   []string // the tokens
		anew    []bool   // of the pages that were seen
		want    error
	}{
		"one page":                        {[]reply{{page(""), nil}}, []string{""}, []bool{false}, nil},
		"three pages":                     {[]reply{{page("a"), nil}, {page("b"), nil}, {page(""), nil}}, []string{"", "a", "b"}, []bool{false, false, false}, nil},
		"answers that may change":         {[]reply{{nil, broken}, {page("a"), nil}, {nil, busy}, {page(""), nil}}, []string{"", "", "a", "a"}, []bool{false, false}, nil},
		"an answer that stays":            {[]reply{{page("a"), nil}, {nil, forbidden}}, []string{"", "a"}, []bool{false}, forbidden},
		"forgotten, goes on":              {[]reply{{page("a"), nil}, {nil, expired("b")}, {page(""), nil}}, []string{"", "a", "b"}, []bool{false, false}, nil},
		"forgotten, begins anew":          {[]reply{{page("a"), nil}, {nil, expired("")}, {nil, busy}, {page("c"), nil}, {page(""), nil}}, []string{"", "a", "", "", "c"}, []bool{false, true, false}, nil},
		"forgotten before there was any":  {[]reply{{nil, expired("")}, {page(""), nil}}, []string{"", ""}, []bool{false}, nil},
		"forgotten all the time, at last": {slices.Repeat([]reply{{nil, expired("")}}, 9), slices.Repeat([]string{""}, 9), nil, expired("")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked []string
			var anew []bool
			err := installation.Pages(t.Context(), func(_ context.Context, o metav1.ListOptions) (*metas, error) {
				if asked = append(asked, o.Continue); len(asked) > len(c.replies) || o.Limit != installation.PageSize {
					t.Fatalf("asked for %q, %d at a time", asked, o.Limit)
				}
				r := c.replies[len(asked)-1]
				return r.page, r.err
			}, func(_ *metas, again bool) (bool, error) {
				anew = append(anew, again)
				return true, nil
			})
			if !slices.Equal(asked, c.asked) || !slices.Equal(anew, c.anew) || (err == nil) != (c.want == nil) || err != nil && err.Error() != c.want.Error() {
				t.Errorf("asked for %q, saw %v, %v", asked, anew, err)
			}
		})
	}
}

func TestPagesEndEarly(t *testing.T) {
	t.Parallel()
	stopped := errors.New("stopped")
	for _, want := range []error{nil, stopped} {
		pages := 0
		err := installation.Pages(t.Context(), func(context.Context, metav1.ListOptions) (*metas, error) { return page("more"), nil },
			func(*metas, bool) (bool, error) { pages++; return pages < 2 && want == nil, want })
		if !errors.Is(err, want) || pages > 2 {
			t.Errorf("%d pages, %v", pages, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := installation.Pages(ctx, func(context.Context, metav1.ListOptions) (*metas, error) {
		cancel()
		return nil, errors.New("broken pipe")
	}, func(*metas, bool) (bool, error) { return true, nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestRetriesEnd(t *testing.T) {
	t.Parallel()
	tries := 0
	_, err := installation.Retried(t.Context(), func() (int, error) { tries++; return 0, apierrors.NewTooManyRequests("busy", 0) })
	if tries != installation.MaxTries || !apierrors.IsTooManyRequests(err) {
		t.Errorf("%d tries, %v", tries, err)
	}
	tries = 0
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "things"}, "x", nil)
	if _, err = installation.Retried(t.Context(), func() (int, error) { tries++; return 0, conflict }); tries != 1 || !apierrors.IsConflict(err) {
		t.Errorf("a conflict stays: %d tries, %v", tries, err)
	}
}
