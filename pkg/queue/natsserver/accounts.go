package natsserver

import (
	"fmt"
	"sync"

	"github.com/nats-io/nats-server/v2/server"

	"k8s-cli/pkg/queue/internal/subject"
)

// Who connects to the embedded server without a name is in an account of its
// own, into which nothing leads but the events: as they happen, and those that
// are stored by JetStream's direct get, which only reads.
//
// Permissions alone would not do. NATS does not check the subject at which an
// answer arrives: who may ask for a stream's info, in the log's account, can have
// the answer written into the log (tried with nats-server 2.15.2), and readers by
// a consumer do ask for it.
const (
	subscriberAccount = "SUBSCRIBERS"
	readEvents        = "$JS.API.DIRECT.GET." + subject.EventStream // with a body that says which
	readLastEvent     = readEvents + ".>"                           // with the subject of which the last is wanted
)

// subscriberPermissions says what a connection may do that hears everything.
func subscriberPermissions() *server.Permissions {
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{readEvents, readLastEvent}},
		Subscribe: &server.SubjectPermission{Allow: []string{subject.Events, subject.Inboxes}},
	}
}

// exportEvents opens the two ways from the log's account to the one of the subscribers.
func exportEvents(s *server.Server) error {
	log := s.GlobalAccount()
	// With an account besides the global one, JetStream has to be told.
	restore := make(chan func())
	var restorers sync.WaitGroup
	for range 4 {
		restorers.Go(func() {
			for f := range restore {
				f()
			}
		})
	}
	err := log.EnableJetStream(nil, restore)
	close(restore)
	restorers.Wait()
	if err != nil {
		return fmt.Errorf("open JetStream: %w", err)
	}
	subscribers, err := s.LookupAccount(subscriberAccount)
	if err == nil {
		err = log.AddStreamExport(subject.Events, nil)
	}
	if err == nil {
		err = subscribers.AddStreamImport(log, subject.Events, "")
	}
	for _, request := range []string{readEvents, readLastEvent} {
		if err == nil {
			err = log.AddServiceExportWithResponse(request, server.Streamed, nil)
		}
		if err == nil {
			err = subscribers.AddServiceImport(log, request, request)
		}
	}
	if err != nil {
		return fmt.Errorf("export events to subscribers: %w", err)
	}
	return nil
}
