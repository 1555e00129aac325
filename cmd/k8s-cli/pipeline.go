package main

import (
	"fmt"

	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/taskfile"
	"k8s-cli/pkg/taskfile/documents"
)

// readSeveral returns the jobs of a file of several tasks, a pipeline or a job group. The overrides
// apply to each task.
func (s *submitter) readSeveral(file string, f documents.File, o taskfile.Overrides) ([]job, error) {
	jobs := make([]job, len(f.Tasks))
	for i, data := range f.Tasks {
		called := partOf(file, i)
		j, err := s.parse(called, data, o)
		if err != nil {
			return nil, err
		}
		j.about, j.together = called+": ", true
		if f.Parallel {
			j.member = f.JobGroup[i]
		}
		jobs[i] = j
	}
	s.pipeline = f.Name
	if f.Name == "" {
		s.pipeline = jobs[0].task.Name
	}
	return jobs, nil
}

// partOf returns the name of one task of a file of several tasks in messages.
func partOf(file string, i int) string { return fmt.Sprintf("%s, task %d", display(file), i+1) }

// reports returns the findings on each task of a file.
func reports(file string, data []byte, o taskfile.Overrides) []show.Report {
	f, err := documents.Split(data)
	switch {
	case err != nil:
		return []show.Report{refused(file, err)}
	case !f.Several():
		return []show.Report{reportOf(display(file), data, o)}
	}
	all := make([]show.Report, len(f.Tasks))
	for i, data := range f.Tasks {
		all[i] = reportOf(partOf(file, i), data, o)
	}
	return all
}

func refused(file string, err error) show.Report {
	return show.NewReport(display(file), []taskfile.Finding{{Severity: taskfile.Refused, Text: fmt.Sprint(err)}})
}

// nameOfGroup returns what the name of a group of jobs begins with.
func (s *submitter) nameOfGroup(jobs []job) string {
	if s.pipeline != "" {
		return s.pipeline
	}
	return jobs[0].task.Name
}
