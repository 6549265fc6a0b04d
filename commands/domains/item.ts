// A sending domain as lists show it, which is also what events about it say.
import type { DomainRow } from '../../db/domains/reads.ts'
import { domainRecords, mailSender } from '../../rules/mail/domainRecords.ts'
import { maySendFrom } from '../../rules/states.ts'

/** What the records of a domain are made with. */
export type DomainSettings = Parameters<typeof mailSender>[0]

/** The RSA key that is shown: the newest one whose record was seen. It may begin to sign later. */
const shownKey = ({ keys }: DomainRow) =>
  keys.findLast((key) => key.algorithm === 'rsa' && key.active)

/** All but who registered it. */
export const toDomainItem = (row: DomainRow, settings: DomainSettings) => ({
  id: row.id,
  name: row.name,
  status: row.status,
  verified_for_sending_status: maySendFrom(row.status),
  verification_info: {
    last_checked_timestamp: row.last_checked_at?.toISOString() ?? null,
    last_success_timestamp: row.last_success_at?.toISOString() ?? null,
    error_type: row.error_type,
    soa_record: row.soa_record,
  },
  public_key: shownKey(row)?.public_key ?? '',
  dns_records: domainRecords(row, 'zone', mailSender(settings)),
  created: row.created_at.getTime(),
  is_warmed_up: row.is_warmed_up,
  warmed_up_at: row.warmed_up_at?.getTime() ?? null,
})
