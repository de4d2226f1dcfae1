/** This extension's own icon. */
import { LabIcon } from '@jupyterlab/ui-components';
import clusterSvg from '../style/icons/cluster.svg';

export const clusterIcon = new LabIcon({
  name: 'jupyter-elastic:cluster',
  svgstr: clusterSvg
});
