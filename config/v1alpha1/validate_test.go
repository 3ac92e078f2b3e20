package v1alpha1_test

import "k8s.io/apimachinery/pkg/api/equality"

func equal(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }
