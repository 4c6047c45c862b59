"""autoPET V: interactive PET/CT lesion segmentation."""
