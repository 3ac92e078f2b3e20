package controller

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

// memory is what the process knows of the objects of one kind beyond what it
// reads. All of it may be lost at any moment: then handlers may repeat as
// after any crash.
type memory struct {
	mu      sync.Mutex
	objects map[types.NamespacedName]*object
	// lives are objects to be read from the server: the cache may not have them.
	lives map[types.NamespacedName]bool
	// completions are still to be looked at.
	completions map[types.NamespacedName]completions
}

// object is what the process knows of one object. It belongs to the worker
// that holds the object's key; only version is read by others, under mu.
type object struct {
	uid types.UID
	// version is the resourceVersion of the last own write; a cached object
	// that is older is not looked at.
	version string
	wrote   time.Time
	// live wants the next look to read from the server: the cache cannot tell
	// what became of the last write.
	live bool
	// known is the marker as last read or written here.
	known *storage.Marker
	// attempted is a marker whose write ended in an error that doesn't tell
	// whether it was stored.
	attempted *storage.Marker
	// unwritten are the runs whose outcomes are not stored yet.
	unwritten []run
	// completed are those of unwritten that somebody waits for.
	completed completions
	// resumed are the handlers that ran in this process, so owe no Resume.
	resumed map[string]bool
	// busy are handlers that ignored the end of their context, until they end.
	busy map[string]<-chan struct{}
	// refusal is the last refusal of the server.
	refusal error
	// refused counts the writes in a row that the server refused.
	refused int
	// held tells that the object carried our finalizer when last seen.
	held atomic.Bool
	// looked is the serial of the view that the last complete pass went by.
	looked atomic.Int64
	// patched is the essence that own patches have made, rounds how many in a
	// row did, and calm until when no handler runs for that reason alone.
	patched string
	rounds  int
	calm    time.Time
	// reported are events that need not be repeated.
	reported map[string]bool
	// states are where the handlers (ids) stood at the last look.
	states []storage.State
	ids    []string
}

// run is one attempt that has ended.
type run struct {
	id      string
	due     plan.Due
	outcome plan.Outcome
	at      time.Time
	chance  float64
	payload any            // nil: none
	patch   map[string]any // merge patch that the handler asked for; nil: none
	before  string         // the digest that the handler saw, before its own patch
	word    string         // by which somebody else told the outcome; empty: nobody did
}

func newMemory() *memory { return &memory{objects: map[types.NamespacedName]*object{}} }

// of returns what is known of the object with this name; with another uid it
// is another object, of which nothing is known.
func (m *memory) of(key types.NamespacedName, uid types.UID) *object {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[key]
	if !ok || o.uid != uid {
		o = &object{uid: uid}
		m.objects[key] = o
	}
	return o
}

// find returns what is known under a name, nil if nothing is.
func (m *memory) find(key types.NamespacedName) *object {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.objects[key]
}

func (m *memory) forget(key types.NamespacedName) *object {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.objects[key]
	delete(m.objects, key)
	return o
}

// known lists the names of all objects of which anything is known.
func (m *memory) known() []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.objects))
}

// forgetAll drops what is known of all objects, with all that is counted.
func (k *kind) forgetAll() {
	for _, key := range k.known() {
		k.forget(key)
	}
}

// readLive has the next pass over an object read it from the server where the
// cache has it not.
func (m *memory) readLive(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lives == nil {
		m.lives = map[types.NamespacedName]bool{}
	}
	m.lives[key] = true
}

func (m *memory) takeLive(key types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	live := m.lives[key]
	delete(m.lives, key)
	return live
}

// wroteVersion notes an own write.
func (m *memory) wroteVersion(o *object, version string, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o.version, o.wrote, o.live = version, now, false
}

// older tells whether version a comes before version b. Where they cannot be
// compared, nothing is older.
func older(a, b string) bool {
	if b == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
