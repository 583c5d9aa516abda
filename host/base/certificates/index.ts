export { Certificate, type CertificateFacts, type CertificateFiles } from './certificate.ts';
export { type ClusterSettings, memberFiles, remoteListening } from './cluster-settings.ts';
export { type MemberFiles, Membership } from './membership.ts';
export { tlsReason } from './tls-reason.ts';
