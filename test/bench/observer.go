package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/dogear-dev/dogear/test/bench/subject"
)

// observer watches a contender's objects and notes when each was handled and
// when it was gone. It looks at the text of events rather than decode them.
type observer struct {
	first         int
	handled, gone []atomic.Int64 // Unix nanoseconds; 0: not yet
	left          [2]atomic.Int64
	reached       [2]chan struct{}
	broken        chan error
	stop          context.CancelFunc
}

const (
	whenHandled = iota
	whenGone
)

// observe starts to watch n objects of a contender, from now on; first is the
// number of the first.
func (b *bench) observe(ctx context.Context, contender string, first, n int) (*observer, error) {
	namespace := namespaceOf(subjectOf(contender))
	version, err := b.resourceVersion(ctx, namespace)
	if err != nil {
		return nil, err
	}
	o := &observer{
		first:   first,
		handled: make([]atomic.Int64, n), gone: make([]atomic.Int64, n),
		reached: [2]chan struct{}{make(chan struct{}), make(chan struct{})}, broken: make(chan error, 1),
	}
	o.left[whenHandled].Store(int64(n))
	o.left[whenGone].Store(int64(n))
	ctx, o.stop = context.WithCancel(ctx)
	stream, err := b.watch(ctx, namespace, version)
	if err != nil {
		return nil, err
	}
	go func() {
		for err == nil {
			var seen string
			if seen, err = o.follow(contender, stream); seen != "" {
				version = seen
			}
			if err == nil { // the API server ends watches that it finds slow
				stream, err = b.watch(ctx, namespace, version)
			}
		}
		o.broken <- err
	}()
	return o, nil
}

// watch asks for the events after a version.
func (b *bench) watch(ctx context.Context, namespace, version string) (io.ReadCloser, error) {
	url := fmt.Sprintf("%s/apis/cert-manager.io/v1/namespaces/%s/certificates?watch=1&timeoutSeconds=3600&resourceVersion=%s", b.cp.URL(), namespace, version)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	response, err := b.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", namespace, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("watch %s: %s", namespace, response.Status), response.Body.Close())
	}
	return response.Body, nil
}

// follow takes in events to the end of the stream, and returns the version of
// the last one.
func (o *observer) follow(contender string, stream io.ReadCloser) (version string, err error) {
	defer func() { _ = stream.Close() }()
	lines := bufio.NewScanner(stream)
	lines.Buffer(make([]byte, 64<<10), 8<<20)
	for lines.Scan() {
		if bytes.HasPrefix(lines.Bytes(), []byte(`{"type":"ERROR"`)) {
			return version, fmt.Errorf("watch %s's objects: %.300s", contender, lines.Bytes())
		}
		o.note(contender, lines.Bytes())
		if seen := versionOf(lines.Bytes()); seen != "" {
			version = seen
		}
	}
	return version, lines.Err()
}

// versionOf reads the resource version from an event.
func versionOf(event []byte) string {
	_, rest, _ := bytes.Cut(event, []byte(`,"resourceVersion":"`))
	end := max(0, bytes.IndexByte(rest, '"'))
	return string(rest[:end])
}

func (o *observer) note(contender string, event []byte) {
	i, ok := numberOf(event)
	if i -= o.first; !ok || i < 0 || i >= len(o.handled) {
		return
	}
	switch {
	case bytes.HasPrefix(event, []byte(`{"type":"DELETED"`)):
		o.mark(o.gone, whenGone, i)
	case handledBy(contender, event):
		o.mark(o.handled, whenHandled, i)
	}
}

func (o *observer) mark(times []atomic.Int64, what, i int) {
	if times[i].CompareAndSwap(0, time.Now().UnixNano()) && o.left[what].Add(-1) == 0 {
		close(o.reached[what])
	}
}

// wait waits until all objects are handled, or gone.
func (o *observer) wait(ctx context.Context, what int) error {
	select {
	case <-o.reached[what]:
		return nil
	case err := <-o.broken:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(waitLimit):
		return fmt.Errorf("after %s %d objects of %d are still missing", waitLimit, o.left[what].Load(), len(o.handled))
	}
}

// last is when the last object was handled, or gone.
func last(times []atomic.Int64) time.Time {
	var latest int64
	for i := range times {
		latest = max(latest, times[i].Load())
	}
	return time.Unix(0, latest)
}

// numberOf reads the number of the object from an event.
func numberOf(event []byte) (int, bool) {
	_, rest, ok := bytes.Cut(event, []byte(`"name":"`+namePrefix))
	if !ok {
		return 0, false
	}
	return leadingNumber(rest)
}

func leadingNumber(text []byte) (int, bool) {
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(string(text[:end]))
	return n, err == nil
}

// handledBy tells whether an event shows that the contender has handled the
// object as it is: the generation it has noted is that of the object. Inside
// of an annotation's value quotes are escaped.
func handledBy(contender string, event []byte) bool {
	_, rest, _ := bytes.Cut(event, []byte(`,"generation":`))
	generation, ok := leadingNumber(rest)
	if !ok {
		return false
	}
	succeeded := func(state string) bool { return bytes.Contains(event, []byte(`"`+state+`":"Succeeded"`)) }
	switch contender {
	case subject.Dogear:
		return succeeded(subject.DogearState) && notedIn(event, subject.DogearHandled) == generation
	case deadSame, deadOthers:
		if succeededIn(event, subject.HTTPProgress, subject.ServiceHandler) {
			return true // while the other handler is still due
		}
		fallthrough
	case subject.HTTP:
		return succeeded(subject.HTTPState) && notedIn(event, subject.HTTPHandled) == generation
	}
	return bytes.Contains(event, []byte(`"`+subject.BareHandled+`":"`+strconv.Itoa(generation)+`"`))
}

// notedIn reads the generation that an annotation notes as handled; -1: none.
func notedIn(event []byte, annotation string) int {
	_, rest, _ := bytes.Cut(event, []byte(`"`+annotation+`":"`))
	_, rest, _ = bytes.Cut(rest, []byte(`\"generation\":`))
	noted, ok := leadingNumber(rest)
	if !ok {
		return -1
	}
	return noted
}

// succeededIn tells whether an annotation has a handler of an object that was
// created, and not changed, as succeeded.
func succeededIn(event []byte, annotation, handler string) bool {
	_, rest, _ := bytes.Cut(event, []byte(`"`+annotation+`":"`))
	_, rest, _ = bytes.Cut(rest, []byte(`\"`+handler+`\":{`))
	record, _, _ := bytes.Cut(rest, []byte(`}`))
	return bytes.Contains(record, []byte(`\"state\":\"Succeeded\"`))
}
