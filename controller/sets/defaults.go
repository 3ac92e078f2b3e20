package sets

import (
	"errors"

	"github.com/dogear-dev/dogear/controller/handler"
)

func (s *Service) defaults(*verdict, *match) (handler.Registration, error) {
	return handler.Registration{}, errors.New("defaults are not supported yet")
}
