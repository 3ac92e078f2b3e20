// Package installation finds the service in a cluster: its namespace, its
// Deployments and what it has left there at run time, whoever installed it.
package installation
