package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

func newCreateVolumeCommand(e *env) *cobra.Command {
	var v task.Volume
	var class string
	cmd := &cobra.Command{
		Use:   "create NAME SIZE",
		Short: "Create a volume",
		Example: `  # Create a volume that the nodes of a task share
  k8s-cli volumes create data-vol 10Gi --access-modes ReadWriteMany`,
		Args:              takes(2, 2),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			v.Name, v.Size = args[0], args[1]
			if cmd.Flags().Changed("storage-class") {
				v.StorageClass = &class
			}
			for i := range v.AccessModes {
				v.AccessModes[i] = strings.TrimSpace(v.AccessModes[i])
			}
			return e.createVolume(cmd.Context(), v)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&class, "storage-class", "s", "", "storage class; \"\" requests a claim without a class (default: the default class of the cluster)")
	flags.StringSliceVarP(&v.AccessModes, "access-modes", "a", task.AccessModes[:1], "access `modes`, separated by commas: "+strings.Join(task.AccessModes, ", "))
	_ = cmd.RegisterFlagCompletionFunc("access-modes", cobra.FixedCompletions(task.AccessModes, cobra.ShellCompDirectiveNoFileComp))
	outputFlag(cmd, e)
	return cmd
}

func (e *env) createVolume(ctx context.Context, v task.Volume) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	created, err := c.CreateVolume(ctx, v)
	if err != nil {
		return err
	}
	for _, w := range created.Warnings {
		e.warn("%s", w)
	}
	return e.present(created, func() {
		show.Done(e.out, e.style, "Volume created successfully",
			show.Field{Name: "Volume ID", Value: created.ID}, show.Field{Name: "Status", Value: created.Status})
	})
}

func newListVolumesCommand(e *env) *cobra.Command {
	var details, allUsers, watch bool
	cmd := &cobra.Command{
		Use:               "list",
		Short:             "List volumes, newest first",
		Example:           "  k8s-cli volumes list --details",
		Args:              takes(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := e.client()
			if err != nil {
				return err
			}
			if watch {
				return e.watchVolumes(cmd.Context(), c, details, allUsers)
			}
			return e.listVolumes(cmd.Context(), c, details, allUsers)
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, watchHelp)
	cmd.Flags().BoolVarP(&details, "details", "d", false, "show storage class, access modes and claim")
	cmd.Flags().BoolVarP(&allUsers, "all-users", "u", false, "list the volumes of all users")
	outputFlag(cmd, e)
	return cmd
}

func (e *env) listVolumes(ctx context.Context, c *client.Client, details, allUsers bool) error {
	volumes, err := c.Volumes(ctx, allUsers)
	if err != nil {
		return err
	}
	volumes = append([]task.VolumeStatus{}, volumes...)
	slices.SortStableFunc(volumes, func(a, b task.VolumeStatus) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return e.present(task.VolumeList{Volumes: volumes}, func() {
		if len(volumes) == 0 {
			fmt.Fprintln(e.out, "No volumes found")
			return
		}
		show.Volumes(e.out, e.style, volumes, e.columns(details, allUsers))
		fmt.Fprintf(e.out, "\nTotal volumes: %d\n", len(volumes))
	})
}

func newVolumeStatusCommand(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "status ID",
		Short:             "Show the details of a volume",
		Example:           "  k8s-cli volumes status 1b3c5d7f",
		Args:              takes(1, 1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return e.volumeStatus(cmd.Context(), args[0]) },
	}
	outputFlag(cmd, e)
	return cmd
}

func (e *env) volumeStatus(ctx context.Context, id string) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	v, err := c.Volume(ctx, id)
	if err != nil {
		return err
	}
	return e.present(v, func() { show.Volume(e.out, e.style, v) })
}

func newDeleteVolumeCommand(e *env) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:               "delete ID",
		Short:             "Delete a volume and its data",
		Example:           "  k8s-cli volumes delete 1b3c5d7f",
		Args:              takes(1, 1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return e.deleteVolume(cmd.Context(), args[0], force) },
	}
	cmd.Flags().BoolVarP(&force, "force", "f", false, "skip the prompt, and delete the volume even if tasks use it")
	outputFlag(cmd, e)
	return cmd
}

func (e *env) deleteVolume(ctx context.Context, id string, force bool) error {
	c, err := e.client()
	if err != nil {
		return err
	}
	if !force {
		yes, err := e.confirm("Are you sure you want to delete volume "+id+"?", "--force")
		if err != nil {
			return err
		}
		if !yes {
			fmt.Fprintln(e.out, "Cancelled")
			return nil
		}
	}
	remove := c.DeleteVolume
	if force {
		remove = c.ForceDeleteVolume
	}
	deleted, err := remove(ctx, id)
	if err != nil {
		return err
	}
	return e.present(deleted, func() {
		show.Done(e.out, e.style, "Volume deleted successfully",
			show.Field{Name: "Volume ID", Value: deleted.ID}, show.Field{Name: "Status", Value: deleted.Status})
	})
}
