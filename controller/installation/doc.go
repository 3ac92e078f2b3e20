// Package installation is what all commands have in common that work on a
// cluster: it finds the service there, whoever installed it, and the resources
// that the API server serves, and says why something was refused.
package installation
