package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"k8s-cli/pkg/queue/backup"
	"k8s-cli/pkg/queue/natsconn"
)

// backupCommand returns the command that backs up the streams of an external NATS.
func backupCommand() *cobra.Command {
	c := newConnection()
	cmd := &cobra.Command{
		Use:     "backup DIRECTORY",
		Short:   "Back up the log and all other streams of an external NATS",
		Long:    "Back up the log and all other streams of an external NATS to a new directory.\nThe servers may run meanwhile.",
		Example: "  k8s-cli-server backup --nats-url nats://server:PASSWORD@127.0.0.1:4222 backup-monday",
		Args:    oneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			nc, err := c.dial()
			if err != nil {
				return err
			}
			defer nc.Close()
			if err := backup.Write(cmd.Context(), nc, args[0], reportTo(cmd.OutOrStdout())); err != nil {
				return notDone(cmd.Context(), fmt.Errorf("back up to %s: %w", args[0], err))
			}
			fmt.Fprintln(cmd.OutOrStdout(), "The backup is complete. The key of the secrets of tasks is not in the backup, but in a Kubernetes Secret.")
			return nil
		},
	}
	cmd.Flags().AddFlagSet(c.flags)
	return cmd
}

// restoreCommand returns the command that restores a backup.
func restoreCommand() *cobra.Command {
	c, o := newConnection(), backup.Options{}
	cmd := &cobra.Command{
		Use:     "restore DIRECTORY",
		Short:   "Restore a backup to an external NATS",
		Long:    "Restore a backup to an external NATS. Stop all servers before, and start them after the restore.",
		Example: "  k8s-cli-server restore --nats-url nats://server:PASSWORD@127.0.0.1:4222 --replace backup-monday",
		Args:    oneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			nc, err := c.dial()
			if err != nil {
				return err
			}
			defer nc.Close()
			if err := backup.Restore(cmd.Context(), nc, args[0], o, reportTo(cmd.OutOrStdout())); err != nil {
				return notDone(cmd.Context(), fmt.Errorf("restore from %s: %w", args[0], err))
			}
			fmt.Fprintln(cmd.OutOrStdout(), "The restore is complete. Start the servers.")
			return nil
		},
	}
	cmd.Flags().AddFlagSet(c.flags)
	cmd.Flags().BoolVar(&o.Replace, "replace", false, "delete the present streams before the restore")
	cmd.Flags().IntVar(&o.Replicas, "nats-replicas", 0, "replicas of the restored streams (default: as in the backup)")
	return cmd
}

func oneDirectory(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("name one directory")
	}
	return nil
}

// A connection has the flags of a connection to an external NATS.
type connection struct {
	remote natsconn.Remote
	flags  *pflag.FlagSet
}

func newConnection() *connection {
	c := &connection{flags: pflag.NewFlagSet("NATS", pflag.ContinueOnError)}
	defineNATS(c.flags, &c.remote, "")
	return c
}

// dial connects to the NATS that the flags or their environment variables name.
func (c *connection) dial() (*natsconn.Conn, error) {
	if err := fromEnvironment(c.flags, os.LookupEnv); err != nil {
		return nil, err
	}
	if c.remote.URL == "" {
		return nil, usagef("--nats-url is empty; to back up an embedded log, stop the server and copy its --data-dir")
	}
	if err := checkNATS(c.remote); err != nil {
		return nil, err
	}
	return c.remote.DialOnce()
}

// notDone returns err, or an error for an interruption. An interrupted server exits with 0, but an
// interrupted backup does not.
func notDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New(strings.ReplaceAll(err.Error(), context.Canceled.Error(), "interrupted"))
	}
	return err
}

// reportTo prints one line for each stream.
func reportTo(w io.Writer) func(backup.Stream) {
	return func(s backup.Stream) {
		fmt.Fprintf(w, "%-15s %8d messages %12d bytes\n", s.Name, s.State.Messages, s.Bytes)
	}
}
