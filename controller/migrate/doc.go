// Package migrate brings the stored objects of Dogear's own CRDs to the version
// in which the API server stores them now. Only then can a release drop an older
// version from a CRD: the API server refuses that while status.storedVersions
// names it, and it never shortens that list by itself.
package migrate
