package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/complete"
	"k8s-cli/cmd/k8s-cli/internal/ref"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

func newCreateVolumeCommand(e *env, s *server) *cobra.Command {
	var v task.Volume
	var class string
	cmd := &cobra.Command{
		Use:   "create NAME SIZE",
		Short: "Create a volume",
		Example: `  # Create a volume that the nodes of a task share
  k8s-cli volumes create data-vol 10Gi --access-modes ReadWriteMany`,
		Args:              takes(2, 2),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	p := newPrinter(&e.Console, cmd)
	flags := cmd.Flags()
	cmd.RunE = s.run(func(ctx context.Context, c *client.Client, args []string) error {
		v.Name, v.Size = args[0], args[1]
		if flags.Changed("storage-class") {
			v.StorageClass = &class
		}
		for i := range v.AccessModes {
			v.AccessModes[i] = strings.TrimSpace(v.AccessModes[i])
		}
		return createVolume(ctx, c, p, v)
	})
	flags.StringVarP(&class, "storage-class", "s", "", "storage class; \"\" requests a claim without a class (default: the default class of the cluster)")
	flags.StringSliceVarP(&v.AccessModes, "access-modes", "a", task.AccessModes[:1], "access `modes`, separated by commas: "+strings.Join(task.AccessModes, ", "))
	_ = cmd.RegisterFlagCompletionFunc("access-modes", cobra.FixedCompletions(task.AccessModes, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func createVolume(ctx context.Context, c *client.Client, p *printer, v task.Volume) error {
	created, err := c.CreateVolume(ctx, v)
	if err != nil {
		return err
	}
	for _, w := range created.Warnings {
		p.Warn("%s", w)
	}
	return p.present(created, func() {
		p.Done("Volume created successfully",
			show.Field{Name: "Volume ID", Value: created.ID}, show.Field{Name: "Status", Value: created.Status})
	})
}

func newListVolumesCommand(e *env, s *server) *cobra.Command {
	var details, allUsers, watch bool
	cmd := &cobra.Command{
		Use:               "list",
		Aliases:           []string{"ls", "ps"},
		Short:             "List volumes, newest first",
		Example:           "  k8s-cli volumes list --details",
		Args:              takes(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	p := newPrinter(&e.Console, cmd)
	p.quietFlag(cmd)
	p.headerFlag(cmd)
	cmd.RunE = s.run(func(ctx context.Context, c *client.Client, _ []string) error {
		columns := p.columns(details, allUsers)
		if watch && p.isLive() {
			return runLive(ctx, e, c, p, liveVolumes(c, columns, allUsers))
		}
		if watch {
			return watchVolumes(ctx, c, p, columns, allUsers)
		}
		return listVolumes(ctx, c, p, columns, allUsers)
	})
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, watchHelp)
	cmd.Flags().BoolVarP(&details, "details", "d", false, "show storage class, access modes and claim")
	cmd.Flags().BoolVarP(&allUsers, "all-users", "u", false, "list the volumes of all users")
	return cmd
}

// sortedVolumes returns the volumes, newest first.
func sortedVolumes(ctx context.Context, c *client.Client, allUsers bool) ([]task.VolumeStatus, error) {
	volumes, err := c.Volumes(ctx, allUsers)
	if err != nil {
		return nil, err
	}
	volumes = append([]task.VolumeStatus{}, volumes...)
	slices.SortStableFunc(volumes, func(a, b task.VolumeStatus) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return volumes, nil
}

func listVolumes(ctx context.Context, c *client.Client, p *printer, columns show.Columns, allUsers bool) error {
	volumes, err := sortedVolumes(ctx, c, allUsers)
	if err != nil {
		return err
	}
	return p.present(task.VolumeList{Volumes: volumes}, func() {
		if len(volumes) > 0 {
			show.Volumes(p.Out, p.Style, volumes, columns)
		}
		switch {
		case p.Style.NoHeaders:
		case len(volumes) == 0:
			fmt.Fprintln(p.Out, "No volumes found")
		default:
			fmt.Fprintf(p.Out, "\nTotal volumes: %d\n", len(volumes))
		}
	})
}

func newVolumeStatusCommand(e *env, s *server) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "status ID",
		Aliases:           []string{"describe", "get", "show"},
		Short:             "Show the details of a volume",
		Example:           "  k8s-cli volumes status 1b3c5d7f",
		Args:              takes(1, 1),
		ValidArgsFunction: complete.One(complete.Volumes(s.completion)),
	}
	p := newPrinter(&e.Console, cmd)
	cmd.RunE = s.run(func(ctx context.Context, c *client.Client, ids []string) error {
		v, err := ref.Volume(ctx, c, ids[0])
		if err != nil {
			return err
		}
		return p.present(v, func() { show.Volume(p.Out, p.Style, v) })
	})
	return cmd
}

func newDeleteVolumeCommand(e *env, s *server) *cobra.Command {
	var force, yes bool
	cmd := &cobra.Command{
		Use:               "delete ID",
		Aliases:           []string{"rm"},
		Short:             "Delete a volume and its data",
		Example:           "  k8s-cli volumes delete 1b3c5d7f",
		Args:              takes(1, 1),
		ValidArgsFunction: complete.One(complete.Volumes(s.completion)),
	}
	p := newPrinter(&e.Console, cmd)
	cmd.RunE = s.run(func(ctx context.Context, c *client.Client, ids []string) error {
		return deleteVolume(ctx, c, p, ids[0], force, yes)
	})
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "skip the prompt")
	cmd.Flags().BoolVarP(&force, "force", "f", false, "skip the prompt, and delete the volume even if tasks use it")
	return cmd
}

func deleteVolume(ctx context.Context, c *client.Client, p *printer, text string, force, yes bool) error {
	v, err := ref.VolumeToChange(ctx, c, text)
	if err != nil {
		return err
	}
	yes, err = p.confirmed(yes || force, fmt.Sprintf("Are you sure you want to delete volume %s (%s)?", v.ID, v.Name), "--force")
	if !yes {
		return err
	}
	remove := c.DeleteVolume
	if force {
		remove = c.ForceDeleteVolume
	}
	deleted, err := remove(ctx, v.ID)
	if errors.Is(err, problem.NotFound) { // another client deleted it meanwhile
		err = &ref.MissingError{Err: err}
	}
	if err != nil {
		return err
	}
	return p.present(deleted, func() {
		p.Done("Volume deleted successfully",
			show.Field{Name: "Volume ID", Value: deleted.ID}, show.Field{Name: "Name", Value: v.Name}, show.Field{Name: "Status", Value: deleted.Status})
	})
}
