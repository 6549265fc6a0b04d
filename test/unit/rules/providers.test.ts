// The provider behind a mail server: by whole labels of its name, and how many connections it gets.
import { expect, test } from 'vitest'
import { connectionsTo, providerOf } from '../../../rules/mail/providers.ts'

test.each([
  ['aspmx.l.google.com', 'google'],
  ['alt1.gmail-smtp-in.l.google.com', 'google'],
  ['smtp.google.com', 'google'],
  ['aspmx2.googlemail.com', 'google'],
  ['acme-com.mail.protection.outlook.com', 'microsoft'],
  ['acme-com.x-v1.mx.microsoft', 'microsoft'],
  ['hotmail-com.olc.protection.outlook.com', 'microsoft'],
  ['mta5.am0.yahoodns.net', 'yahoo'],
  ['mx-eu.mail.am0.yahoodns.net', 'yahoo'],
  ['mx01.mail.icloud.com', 'apple'],
  ['mail.protonmail.ch', 'proton'],
  ['mx.zoho.eu', 'zoho'],
  ['in1-smtp.messagingengine.com', 'fastmail'],
  ['eu-smtp-inbound-1.mimecast.com', 'mimecast'],
  ['mx0a-00123456.pphosted.com', 'proofpoint'],
  ['d12345a.ess.barracudanetworks.com', 'barracuda'],
  ['cluster1.eu.messagelabs.com', 'messagelabs'],
  ['mx1.acme.iphmx.com', 'cisco'],
  ['mx01.hornetsecurity.com', 'hornetsecurity'],
  ['mx00.gmx.net', 'united-internet'],
  ['mx-ha02.web.de', 'united-internet'],
  ['mx00.ionos.de', 'ionos'],
  ['mx1.mail.ovh.net', 'ovh'],
  ['smtpin.rzone.de', 'strato'],
  ['smtp.secureserver.net', 'godaddy'],
  ['mx1.comcast.net', 'comcast'],
  ['mx.yandex.net', 'yandex'],
  ['mxs.mail.ru', 'mail.ru'],
  ['mxbiz1.qq.com', 'qq'],
  ['163mx01.mxmail.netease.com', 'netease'],
  ['inbound-smtp.eu-west-1.amazonaws.com', 'amazon'],
  ['route1.mx.cloudflare.net', 'cloudflare'],
  ['mx1.forwardemail.net', 'forwardemail'],
  ['aspmx1.migadu.com', 'migadu'],
])('%s is of %s', (host, provider) => {
  expect(providerOf(host)).toBe(provider)
})

test.each([
  'mail.acme.test',
  'notgoogle.com',
  'google.com.acme.test',
  'outlook.com.evil.test',
  'ec2-192-0-2-1.compute.amazonaws.com',
  'vps1.ovh.net',
  'c-192-0-2-1.hsd1.ma.comcast.net',
  'ip-192-0-2-1.ip.secureserver.net',
  'com',
  '',
])('%s is of no provider', (host) => {
  expect(providerOf(host)).toBeNull()
})

test('Google and Microsoft take more connections than others', () => {
  expect(['google', 'microsoft', 'yahoo', '192.0.2.1'].map(connectionsTo)).toEqual([20, 20, 10, 10])
})
