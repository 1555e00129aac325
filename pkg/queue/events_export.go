package queue

import (
	"fmt"
	"sync"

	"github.com/nats-io/nats-server/v2/server"
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
	readEvents        = "$JS.API.DIRECT.GET." + eventStream // with a body that says which
	readLastEvent     = readEvents + ".>"                   // with the subject of which the last is wanted
	inboxSubjects     = "_INBOX.>"                          // nobody's but the subscribers'
)

// subscriberPermissions says what a connection may do that hears everything.
func subscriberPermissions() *server.Permissions {
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{readEvents, readLastEvent}},
		Subscribe: &server.SubjectPermission{Allow: []string{eventSubjects, inboxSubjects}},
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
		err = log.AddStreamExport(eventSubjects, nil)
	}
	if err == nil {
		err = subscribers.AddStreamImport(log, eventSubjects, "")
	}
	for _, subject := range []string{readEvents, readLastEvent} {
		if err == nil {
			err = log.AddServiceExportWithResponse(subject, server.Streamed, nil)
		}
		if err == nil {
			err = subscribers.AddServiceImport(log, subject, subject)
		}
	}
	if err != nil {
		return fmt.Errorf("export events to subscribers: %w", err)
	}
	return nil
}
