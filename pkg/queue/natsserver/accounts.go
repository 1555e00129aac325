package natsserver

import (
	"fmt"
	"sync"

	"github.com/nats-io/nats-server/v2/server"

	"k8s-cli/pkg/queue/internal/subject"
)

// A client that connects to the embedded server without credentials is in an account of its
// own. Only events reach that account: new events as they happen, and stored events by the
// direct get of JetStream, which only reads.
//
// Permissions alone are not enough. NATS does not check the subject to which a reply is sent:
// a client in the account of the log that may request a stream's info can direct the reply
// into the log (tried with nats-server 2.15.2), and clients that read by a consumer do request
// the info.
const (
	subscriberAccount = "SUBSCRIBERS"
	readEvents        = "$JS.API.DIRECT.GET." + subject.EventStream // the body of the request selects the event
	readLastEvent     = readEvents + ".>"                           // followed by the subject whose last event is requested
)

// subscriberPermissions returns the permissions of a connection that may read all events.
func subscriberPermissions() *server.Permissions {
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{readEvents, readLastEvent}},
		Subscribe: &server.SubjectPermission{Allow: []string{subject.Events, subject.Inboxes}},
	}
}

// exportEvents exports new and stored events from the account of the log to the account of the
// subscribers.
func exportEvents(s *server.Server) error {
	log := s.GlobalAccount()
	// A server with an account besides the global one must enable JetStream explicitly.
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
