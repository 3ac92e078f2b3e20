package v1alpha1

import (
	"encoding/json"
	"fmt"
	"time"
)

// Duration is a time span: whole or decimal numbers, each with a unit of ms, s,
// m or h, such as "300ms", "10s" or "1h30m".
//
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,3})?(ms|s|m|h))+$')",message="want a duration such as \"300ms\", \"10s\" or \"1h30m\""
type Duration struct {
	time.Duration `json:"-"`
}

// MarshalJSON encodes it as text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON decodes a text; it fails where that is no duration.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("duration %s: want text such as \"10s\"", data)
	}
	span, err := time.ParseDuration(text)
	if err != nil || span < 0 {
		return fmt.Errorf("duration %q: want one such as \"300ms\", \"10s\" or \"1h30m\"", text)
	}
	d.Duration = span
	return nil
}
