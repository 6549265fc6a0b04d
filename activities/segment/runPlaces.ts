// The places that a segment takes for its transaction: one among those of its contact, and one among those of its workspace.
import { activityInfo } from '@temporalio/activity'
import type { WorkspaceId } from '../../rules/ids.ts'
import { pause_ms } from '../comingAgain.ts'
import { createContactPlaces } from './contactPlaces.ts'
import { contactBusy, workspaceBusy } from './failures.ts'
import { createWorkspacePlaces } from './workspacePlaces.ts'

export type RunPlaces = ReturnType<typeof createRunPlaces>

/** Makes the places of one worker. @param connections of its pool, which workspaces share */
export function createRunPlaces(connections: number) {
  const ofContacts = createContactPlaces()
  const ofWorkspaces = createWorkspacePlaces(connections)
  return {
    /**
     * Takes both, that of the contact first: who waits for another segment of the contact keeps none of the workspace's meanwhile.
     * @param signal ends the wait
     * @returns a function that gives both back
     * @throws ApplicationFailure: those before it take long, so it comes again later; the signal's reason when it is aborted
     */
    async take(
      of: { contact_id: string; workspace_id: WorkspaceId },
      signal: AbortSignal,
    ): Promise<() => void> {
      const { contact_id: contactId, workspace_id: workspaceId } = of
      const { attempt } = activityInfo()
      const leaveContact = await ofContacts.take(contactId)
      if (!leaveContact) throw contactBusy(pause_ms(ofContacts.retryAfter_ms(contactId), attempt))
      let leaveWorkspace: (() => void) | null = null
      try {
        leaveWorkspace = await ofWorkspaces.take(workspaceId, signal)
      } finally {
        if (!leaveWorkspace) leaveContact()
      }
      if (!leaveWorkspace) {
        throw workspaceBusy(pause_ms(ofWorkspaces.retryAfter_ms(workspaceId), attempt))
      }
      const leave = leaveWorkspace
      return () => {
        leave()
        leaveContact()
      }
    },
  }
}
