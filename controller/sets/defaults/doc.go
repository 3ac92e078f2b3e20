// Package defaults fills in what a set declares, at admission, and judges from
// a resource's schema what of it the API server would drop or refuse.
package defaults
