package handler

// Target is a place for payloads.
type Target uint8

// Places for payloads.
const (
	// Auto writes to .status where the schema keeps it, else to the annotation.
	Auto Target = iota
	// Annotation writes to the status annotation only.
	Annotation
)

// StatusTarget says where a handler's payloads go.
type StatusTarget struct {
	Target Target
	// Path is the place below .status, with dots. Default: the handler's ID,
	// whose dots are no separators.
	Path string
	// Condition, if set, is the type of a condition that the handler keeps in
	// .status.conditions, where the schema has a map list of conditions there.
	Condition string
}

// Match is a condition on the value of an annotation. The zero Match wants it
// present, with any value.
type Match struct {
	absent bool
	value  *string
}

// Matches on annotations.
var (
	Present = Match{}
	Absent  = Match{absent: true}
)

// Equals wants the annotation to have just this value.
func Equals(value string) Match { return Match{value: &value} }

// Matches tells whether an annotation, present or not, is as wanted.
func (m Match) Matches(value string, present bool) bool {
	if m.absent || !present {
		return m.absent && !present
	}
	return m.value == nil || *m.value == value
}
