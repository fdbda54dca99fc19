package embedded

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// guardedProcess puts this process into a job that the kernel ends when this
// process does, along with the programs that it has started. If that is refused,
// the program is not ended if only its guard is killed.
func guardedProcess() *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{}
	job, err := windows.CreateJobObject(nil, nil) // never closed: it ends with this process
	if err != nil {
		return attributes
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err == nil {
		_ = windows.AssignProcessToJobObject(job, windows.CurrentProcess())
	}
	return attributes
}
