package defaults

import (
	"time"

	"k8s.io/client-go/openapi"
	"k8s.io/utils/clock"

	"github.com/dogear-dev/dogear/controller/published"
)

// listAge is for how long the list of documents is taken as current: many sets
// are judged at once when a process starts.
const listAge = 2 * time.Second

// Schemas reads the schemas that an API server publishes; nil: there is none.
type Schemas = published.Reader[*Schema]

// NewSchemas returns Schemas of the API server.
func NewSchemas(client openapi.ClientWithContext, clock clock.PassiveClock) *Schemas {
	return &Schemas{Client: client, Clock: clock, Age: listAge, Parse: ParseSchema}
}
